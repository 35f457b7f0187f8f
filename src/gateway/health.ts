import type { Health as HealthBody, Liveness, Readiness, ReadinessCheck } from '../api/health.ts'
import type { Clock } from '../core/clock.ts'
import type { Exchange } from '../core/exchange.ts'
import type { CacheShare, Check, JournalHealth, StoreHealth } from '../core/health.ts'
import { newRequestId } from '../core/request-id.ts'
import type { Scheduler } from '../scheduling/scheduler.ts'

/** News from the control process older than this says nothing about now. */
const STALE_MS = 5_000

export interface HealthParts {
  readonly clock: Clock
  readonly scheduler: Scheduler
  readonly isReady: () => boolean
  readonly isWritable: () => boolean
}

/** Answers the three probes from what this process knows; never waits. */
export class Health {
  readonly #parts: HealthParts
  #stores: StoreHealth | null = null
  #cacheShare: CacheShare = { promptTokens: 0, cachedTokens: 0 }
  #draining = false

  constructor(parts: HealthParts) {
    this.#parts = parts
  }

  update(news: StoreHealth & { readonly cacheShare: CacheShare }): void {
    this.#stores = news
    this.#cacheShare = news.cacheShare
  }

  /** Readiness turns false: whoever balances the load sends new requests elsewhere. */
  drain(): void {
    this.#draining = true
  }

  readonly overall = (exchange: Exchange): void => {
    const { clock, scheduler, isReady } = this.#parts
    const { availableKeys, totalConcurrency, keys } = scheduler.capacity(clock.now())
    const { database, cache, journal } = this.#checks()
    const isBehind = journal?.isBehind === true
    const impaired = availableKeys < keys || database.status === 'down' || cache.status === 'down' || isBehind
    const able = isReady() && availableKeys > 0
    const { promptTokens, cachedTokens } = this.#cacheShare
    this.#answer(exchange, able ? 200 : 503, {
      status: able ? (impaired ? 'degraded' : 'healthy') : 'unhealthy',
      available_keys: availableKeys,
      total_concurrency: totalConcurrency,
      cache_hit_rate: percentage(cachedTokens, promptTokens),
      response_cache_hit_rate: percentage(0, 0),
      ...(isBehind ? { journal: behind(journal) } : {}),
    })
  }

  readonly live = (exchange: Exchange): void => {
    this.#answer(exchange, 200, { status: 'ok' })
  }

  /** 503 while draining, before the first snapshot, without a usable key, or when nothing can be recorded. The stores are told, not needed. */
  readonly ready = (exchange: Exchange): void => {
    const { clock, scheduler, isReady, isWritable } = this.#parts
    const { availableKeys } = scheduler.capacity(clock.now())
    const keyPool: Check =
      availableKeys > 0
        ? { status: 'ok', latencyMs: 0 }
        : { status: 'down', latencyMs: 0, message: 'no upstream key is usable' }
    const { database, cache } = this.#checks()
    const able = isReady() && isWritable() && availableKeys > 0 && !this.#draining
    this.#answer(exchange, able ? 200 : 503, {
      status: this.#draining ? 'draining' : able ? 'ready' : 'not_ready',
      checks: { database: rendered(database), cache: rendered(cache), key_pool: rendered(keyPool) },
    })
  }

  #checks(): Pick<StoreHealth, 'database' | 'cache'> & { readonly journal: JournalHealth | null } {
    const stores = this.#stores
    if (stores !== null && this.#parts.clock.now() - stores.atMs <= STALE_MS) return stores
    const unknown: Check = { status: 'down', latencyMs: 0, message: 'no news from the control process' }
    return { database: unknown, cache: unknown, journal: null }
  }

  #answer(exchange: Exchange, status: number, value: HealthBody | Liveness | Readiness): void {
    exchange.response.send(
      status,
      [
        ['Content-Type', 'application/json'],
        ['X-Request-Id', newRequestId(this.#parts.clock.now())],
        ['Cache-Control', 'no-store'],
      ],
      JSON.stringify(value),
    )
  }
}

function rendered(check: Check): ReadinessCheck {
  const { status, latencyMs, message } = check
  return { status, latency_ms: latencyMs, ...(message === undefined ? {} : { message }) }
}

function behind({ lagMs, unsettledBytes }: JournalHealth): NonNullable<HealthBody['journal']> {
  return { status: 'behind', lag_seconds: Math.round(lagMs / 1000), unsettled_bytes: unsettledBytes }
}

function percentage(part: number, whole: number): string {
  return `${(whole === 0 ? 0 : (100 * part) / whole).toFixed(1)}%`
}
