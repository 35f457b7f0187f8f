import { LRUCache } from 'lru-cache'
import { isApiKey } from '../../shared/core/api-key.ts'
import type { Clock } from '../../shared/runtime/clock.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import type { IncomingRequest } from '../../shared/core/exchange.ts'
import type { Principal } from '../../shared/core/principal.ts'
import type { Authenticator } from './authenticator.ts'
import { presentedKey } from './authenticator.ts'

export interface NewcomersOptions {
  readonly authenticator: Authenticator
  readonly clock: Clock
  /** Resolves to true when the snapshot has all that was in the store at the moment of the call, to false when nobody can tell. */
  readonly isSnapshotCurrent: () => Promise<boolean>
}

/** A key that the store did not have is refused without another look for this long. */
const STRANGE_MS = 1_000
const MAX_STRANGERS = 10_000

/** Keys that the snapshot refuses and that may have been created or enabled a moment ago. */
export class Newcomers {
  readonly #options: NewcomersOptions
  readonly #strangeUntilMs = new LRUCache<string, number>({ max: MAX_STRANGERS })

  constructor(options: NewcomersOptions) {
    this.#options = options
  }

  /** Whether the store may know more of the key of this request: it is well-formed, and was not looked for a moment ago. */
  mayBeOne(request: IncomingRequest): boolean {
    const key = presentedKey(request)
    if (key === null || !isApiKey(key)) return false
    return (this.#strangeUntilMs.get(key) ?? 0) <= this.#options.clock.now()
  }

  /** As {@link Authenticator.authenticate}, after a look into the store. Rejects with CONTROL_UNAVAILABLE when nobody could look. */
  async authenticate(request: IncomingRequest): Promise<Principal> {
    const { authenticator, clock, isSnapshotCurrent } = this.#options
    const isCurrent = await isSnapshotCurrent()
    try {
      return authenticator.authenticate(request, clock.now())
    } catch (cause) {
      const refusal = GatewayError.from(cause)
      const key = presentedKey(request)
      if (refusal.code !== 'KEY_UNKNOWN' || key === null) throw refusal
      if (isCurrent) {
        this.#strangeUntilMs.set(key, clock.now() + STRANGE_MS)
        throw refusal
      }
      throw new GatewayError('CONTROL_UNAVAILABLE', {
        message: 'This API key is not known here yet, and the store cannot be asked at the moment. Try again.',
        retryAfterSeconds: 1,
      })
    }
  }
}
