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
  /** Resolves to true when the snapshot has everything that the store had at the moment of the call, to false when that is unknown. */
  readonly isSnapshotCurrent: () => Promise<boolean>
}

/** A key that the store did not have is refused for this long without asking the store again. */
const UNKNOWN_MS = 1_000
const MAX_UNKNOWN = 10_000

/** Authenticates keys that the snapshot refuses but that may have been created or enabled a moment ago. */
export class Newcomers {
  readonly #options: NewcomersOptions
  readonly #unknownUntilMs = new LRUCache<string, number>({ max: MAX_UNKNOWN })

  constructor(options: NewcomersOptions) {
    this.#options = options
  }

  /** Whether the store may know this request's key: the key is well-formed, and the store did not lack it a moment ago. */
  mayBeOne(request: IncomingRequest): boolean {
    const key = nameOf(request)
    if (key === null) return false
    return (this.#unknownUntilMs.get(key) ?? 0) <= this.#options.clock.now()
  }

  /** As {@link Authenticator.authenticate}, after asking the store. Rejects with CONTROL_UNAVAILABLE when the store cannot be asked. */
  async authenticate(request: IncomingRequest): Promise<Principal> {
    const { authenticator, clock, isSnapshotCurrent } = this.#options
    const isCurrent = await isSnapshotCurrent()
    try {
      return authenticator.authenticate(request, clock.now())
    } catch (cause) {
      const refusal = GatewayError.from(cause)
      const key = nameOf(request)
      if (refusal.code !== 'KEY_UNKNOWN' || key === null) throw refusal
      if (isCurrent) {
        this.#unknownUntilMs.set(key, clock.now() + UNKNOWN_MS)
        throw refusal
      }
      throw new GatewayError('CONTROL_UNAVAILABLE', {
        message: 'The gateway does not know this API key yet and cannot reach its store at the moment. Try again.',
        retryAfterSeconds: 1,
      })
    }
  }
}

/** The well-formed key of a request, or its digest; null: it has none. */
function nameOf(request: IncomingRequest): string | null {
  if (request.keyDigest !== undefined) return request.keyDigest
  const key = presentedKey(request)
  return key === null || !isApiKey(key) ? null : key
}
