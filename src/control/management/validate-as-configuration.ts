import { ConfigError } from '../../shared/config/config-error.ts'
import type { Path } from '../../shared/config/config-error.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import { storableText } from '../store/text.ts'

/**
 * Runs a check of the configuration file on a request. Throws INVALID_FIELD with the field that fails.
 * @param place the path of the checked value in the request
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

/** Throws INVALID_FIELD for texts and member names that the database refuses. */
export function checkStorable(value: unknown): void {
  JSON.stringify(value, (name, member: unknown) => {
    for (const text of [name, member]) {
      if (typeof text !== 'string' || storableText(text) === text) continue
      throw new GatewayError('INVALID_FIELD', { message: 'A text must not contain NUL or lone surrogates.' })
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
