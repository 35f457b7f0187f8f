import type { Health as HealthBody, Liveness, Readiness, ReadinessCheck } from '../../shared/endpoints/health.ts'
import type { Clock } from '../../shared/runtime/clock.ts'
import type { Exchange } from '../../shared/core/exchange.ts'
import type { CacheShare, Check, JournalHealth, StoreHealth } from '../../shared/core/health.ts'
import { newRequestId } from '../../shared/core/request-id.ts'
import type { Overload } from '../overload/overload.ts'
import { describeRefusals } from '../overload/words.ts'
import { describeKeyPool } from '../scheduling/words.ts'
import type { Scheduler } from '../scheduling/scheduler.ts'

/** A report of the control process is ignored when it is older than this. */
const STALE_MS = 5_000

export interface HealthParts {
  readonly clock: Clock
  readonly scheduler: Pick<Scheduler, 'capacity'>
  readonly overload: Pick<Overload, 'refuses' | 'pressure' | 'limit'>
  readonly isReady: () => boolean
  readonly isWritable: () => boolean
}

/** The checks of this process. It refuses AI requests while one of them is down. */
interface Needs {
  readonly keyPool: Check
  readonly journal: Check
  readonly capacity: Check
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

  /** Turns readiness off, so that load balancers send new requests elsewhere. */
  drain(): void {
    this.#draining = true
  }

  readonly overall = (exchange: Exchange): void => {
    const { clock, scheduler } = this.#parts
    const { availableKeys, totalConcurrency } = scheduler.capacity(clock.now())
    const { database, cache, journal } = this.#checks()
    const needs = this.#needs()
    const able = this.#isAble(needs)
    const isBehind = journal?.isBehind === true
    const reasons = [
      ...(this.#parts.isReady() ? [] : ['the configuration has not been loaded yet']),
      ...Object.values(needs).flatMap(({ message }: Check) => message ?? []),
      ...(database.status === 'down' ? [`the database is down: ${database.message ?? 'no answer'}`] : []),
      ...(cache.status === 'down' ? [`Redis is down: ${cache.message ?? 'no answer'}`] : []),
      ...(isBehind ? ['the database is far behind the journal'] : []),
    ]
    const { promptTokens, cachedTokens } = this.#cacheShare
    this.#answer(exchange, able ? 200 : 503, {
      status: able ? (reasons.length > 0 ? 'degraded' : 'healthy') : 'unhealthy',
      ...(reasons.length > 0 ? { reasons } : {}),
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

  /**
   * Answers 503 while draining, and while this front serves (nearly) no AI request: before the first snapshot, without a
   * usable key, when the journal cannot be written, and when `overload.refuses` is `all`. A front that refuses only some
   * requests stays ready: without it the other fronts would have even more load. The body reports the stores; they do not
   * decide.
   */
  readonly ready = (exchange: Exchange): void => {
    const { database, cache } = this.#checks()
    const needs = this.#needs()
    const able = this.#isAble(needs) && !this.#draining
    this.#answer(exchange, able ? 200 : 503, {
      status: this.#draining ? 'draining' : able ? 'ready' : 'not_ready',
      checks: {
        database: rendered(database),
        cache: rendered(cache),
        key_pool: rendered(needs.keyPool),
        journal: rendered(needs.journal),
        capacity: rendered(needs.capacity),
      },
    })
  }

  #isAble(needs: Needs): boolean {
    return this.#parts.isReady() && Object.values(needs).every(({ status }: Check) => status === 'ok')
  }

  #needs(): Needs {
    const { clock, scheduler, overload, isWritable } = this.#parts
    const pool = scheduler.capacity(clock.now())
    const { refuses } = overload
    return {
      keyPool: check(pool.availableKeys > 0, describeKeyPool(pool)),
      journal: isWritable()
        ? check(true, null)
        : check(false, 'AI requests are refused: the journal cannot be written, check the disk of the data directory'),
      capacity: check(
        refuses !== 'all',
        refuses === 'none'
          ? null
          : `${refuses === 'all' ? '' : 'some '}AI requests are refused: ${describeRefusals(overload.pressure, overload.limit)}`,
      ),
    }
  }

  #checks(): Pick<StoreHealth, 'database' | 'cache'> & { readonly journal: JournalHealth | null } {
    const stores = this.#stores
    if (stores !== null && this.#parts.clock.now() - stores.atMs <= STALE_MS) return stores
    const unknown: Check = {
      status: 'down',
      latencyMs: 0,
      message: 'the control process has sent no report in the last 5 s',
    }
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

function check(isOk: boolean, message: string | null): Check {
  return { status: isOk ? 'ok' : 'down', latencyMs: 0, ...(message === null ? {} : { message }) }
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
