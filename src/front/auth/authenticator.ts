import { LRUCache } from 'lru-cache'
import { AddressList } from '../../shared/core/address-list.ts'
import { digestApiKey, isApiKey } from '../../shared/core/api-key.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import type { IncomingRequest } from '../../shared/core/exchange.ts'
import type { Principal } from '../../shared/core/principal.ts'
import type { EntryKey, KeyLimits, Snapshot } from '../../shared/core/snapshot.ts'

/** The limits of keys, users and enterprises that set none. */
export interface LimitDefaults {
  readonly key: Principal['limits']
  readonly user: KeyLimits
  readonly enterprise: KeyLimits
}

interface KnownKey {
  readonly principal: Principal
  readonly addresses: AddressList | null
}

/** Digests cached by the whole key: an HMAC costs more than the rest of a request's authentication. */
const REMEMBERED_DIGESTS = 50_000

/** Finds the caller of a request in the snapshot. Never waits. */
export class Authenticator {
  readonly #secret: Buffer
  readonly #defaults: LimitDefaults
  readonly #digests = new LRUCache<string, string>({ max: REMEMBERED_DIGESTS })
  #known: ReadonlyMap<string, KnownKey> = new Map()
  #generation = 0

  constructor(secret: Buffer, defaults: LimitDefaults) {
    this.#secret = secret
    this.#defaults = defaults
  }

  update(snapshot: Snapshot): void {
    this.#generation += 1
    this.#known = new Map(snapshot.keys.map((key) => [key.digest, this.#prepare(key)]))
  }

  /**
   * The caller of a request. Throws KEY_MISSING, KEY_UNKNOWN (also for mistyped and deleted keys), KEY_DISABLED,
   * KEY_EXPIRED, ADDRESS_DENIED or CLIENT_DENIED.
   */
  authenticate(request: IncomingRequest, nowMs: number): Principal {
    const known = this.#knownOf(request)
    if (known === null) throw new GatewayError('KEY_MISSING')
    if (known === undefined) throw new GatewayError('KEY_UNKNOWN')
    const { key } = known.principal
    if (!key.enabled) throw new GatewayError('KEY_DISABLED')
    if (key.expiresAtMs !== null && key.expiresAtMs <= nowMs) throw new GatewayError('KEY_EXPIRED')
    if (known.addresses !== null && !known.addresses.has(request.address)) throw new GatewayError('ADDRESS_DENIED')
    if (key.clients !== null) {
      const userAgent = request.headers['user-agent'] ?? ''
      if (!key.clients.some((prefix) => userAgent.startsWith(prefix))) throw new GatewayError('CLIENT_DENIED')
    }
    return known.principal
  }

  /** The key of a request, usable or not; null when the request has no key or an unknown one. */
  keyOf(request: IncomingRequest): EntryKey | null {
    return this.#knownOf(request)?.principal.key ?? null
  }

  /** Null: the request has no key. */
  #knownOf(request: IncomingRequest): KnownKey | null | undefined {
    if (request.keyDigest !== undefined) return this.#known.get(request.keyDigest)
    const presented = presentedKey(request)
    return presented === null ? null : this.#find(presented)
  }

  #find(presented: string): KnownKey | undefined {
    let digest = this.#digests.get(presented)
    if (digest === undefined) {
      if (!isApiKey(presented)) return undefined
      digest = digestApiKey(presented, this.#secret)
      // Unknown keys are not cached: they would push out known ones.
      if (this.#known.has(digest)) this.#digests.set(presented, digest)
    }
    return this.#known.get(digest)
  }

  #prepare(key: EntryKey): KnownKey {
    const { key: keyDefaults, user, enterprise } = this.#defaults
    return {
      principal: {
        generation: this.#generation,
        key,
        limits: {
          requestsPerMinute: key.limits.requestsPerMinute ?? keyDefaults.requestsPerMinute,
          tokensPerMinute: key.limits.tokensPerMinute ?? keyDefaults.tokensPerMinute,
          concurrency: key.limits.concurrency ?? keyDefaults.concurrency,
        },
        userLimits: key.userId === null ? null : withDefaults(key.userLimits, user),
        enterpriseLimits: key.enterpriseId === null ? null : withDefaults(key.enterpriseLimits, enterprise),
        models: key.models === null ? null : new Set(key.models),
        capture: key.capture ?? null,
      },
      addresses: key.addresses === null ? null : new AddressList(key.addresses),
    }
  }
}

function withDefaults(limits: KeyLimits, defaults: KeyLimits): KeyLimits {
  return {
    requestsPerMinute: limits.requestsPerMinute ?? defaults.requestsPerMinute,
    tokensPerMinute: limits.tokensPerMinute ?? defaults.tokensPerMinute,
    concurrency: limits.concurrency ?? defaults.concurrency,
  }
}

/**
 * Prefers `Authorization: Bearer`, as recommended. Takes `X-API-Key`, or Azure's `api-key`, when the bearer token is absent or not an
 * API key.
 */
export function presentedKey(request: IncomingRequest): string | null {
  const authorization = request.headers['authorization']
  const bearer = authorization === undefined ? undefined : /^bearer +(\S+) *$/i.exec(authorization)?.[1]
  const apiKey = (request.headers['x-api-key'] ?? request.headers['api-key'])?.trim()
  if (bearer !== undefined && (apiKey === undefined || isApiKey(bearer))) return bearer
  return apiKey ?? bearer ?? null
}
