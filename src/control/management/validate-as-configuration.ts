import { ConfigError } from '../../shared/config/config-error.ts'
import type { Path } from '../../shared/config/config-error.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import { storableText } from '../store/text.ts'

/**
 * Does what the configuration file's checks are part of. Throws INVALID_FIELD, of the field they find fault with.
 * @param place where in the request it stands that is checked
 */
export function validateAsConfiguration<Result>(check: () => Result, place: Path = []): Result {
  try {
    return check()
  } catch (cause) {
    if (!(cause instanceof ConfigError)) throw cause
    throw new GatewayError('INVALID_FIELD', {
      message: sentence(cause.message),
      param: pointerTo([...place, ...cause.path]),
      cause,
    })
  }
}

/** Throws INVALID_FIELD for texts, or names of members, that the database does not take. */
export function checkStorable(value: unknown): void {
  JSON.stringify(value, (name, member: unknown) => {
    for (const text of [name, member]) {
      if (typeof text !== 'string' || storableText(text) === text) continue
      throw new GatewayError('INVALID_FIELD', { message: 'A text must hold neither NUL nor half a surrogate pair.' })
    }
    return member
  })
}

export function pointerTo(path: Path): string {
  return path.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}

function sentence(text: string): string {
  return /[.?!]$/.test(text) ? text : `${text}.`
}
