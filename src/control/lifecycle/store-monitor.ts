import type { Clock } from '../../shared/runtime/clock.ts'
import type { CacheShare, Check, JournalHealth, StoreHealth } from '../../shared/core/health.ts'

const WINDOW_MS = 5 * 60_000
const PING_TIMEOUT_MS = 2_000

/** A store that answers a ping. */
export interface Pingable {
  /** Milliseconds of one round trip. */
  ping(): Promise<number>
}

/** Keeps the health of the stores and the share of cached tokens of the last five minutes. */
export class StoreMonitor {
  readonly #database: Pingable
  readonly #cache: Pingable | null
  readonly #journal: { check(): Promise<JournalHealth> }
  readonly #clock: Clock
  #shares: Array<CacheShare & { readonly atMs: number }> = []

  /** @param cache null when the gateway runs without one */
  constructor(database: Pingable, cache: Pingable | null, journal: { check(): Promise<JournalHealth> }, clock: Clock) {
    this.#database = database
    this.#cache = cache
    this.#journal = journal
    this.#clock = clock
  }

  addUsage(share: CacheShare): void {
    if (share.promptTokens > 0) this.#shares.push({ ...share, atMs: this.#clock.now() })
  }

  cacheShare(): CacheShare {
    const fromMs = this.#clock.now() - WINDOW_MS
    this.#shares = this.#shares.filter((share) => share.atMs >= fromMs)
    return this.#shares.reduce(
      (sum, share) => ({
        promptTokens: sum.promptTokens + share.promptTokens,
        cachedTokens: sum.cachedTokens + share.cachedTokens,
      }),
      { promptTokens: 0, cachedTokens: 0 },
    )
  }

  async check(): Promise<StoreHealth> {
    const [database, cache, journal] = await Promise.all([
      ask(this.#database),
      this.#cache === null ? UNUSED : ask(this.#cache),
      this.#journal.check(),
    ])
    return { database, cache, journal, atMs: this.#clock.now() }
  }
}

const UNUSED: Check = { status: 'unused', latencyMs: 0 }

async function ask(store: Pingable): Promise<Check> {
  let timer: NodeJS.Timeout | undefined
  try {
    const timeout = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => {
        reject(new Error(`the store did not answer a ping within ${PING_TIMEOUT_MS} ms`))
      }, PING_TIMEOUT_MS)
    })
    const latencyMs = await Promise.race([store.ping(), timeout])
    return { status: 'ok', latencyMs: Math.round(latencyMs * 100) / 100 }
  } catch (cause) {
    return { status: 'down', latencyMs: 0, message: cause instanceof Error ? cause.message : String(cause) }
  } finally {
    clearTimeout(timer)
  }
}
