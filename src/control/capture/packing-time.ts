/** Longer than nearly all bodies take. A tenant with many ordinary bodies is charged nothing. */
const FREE_MS = 50
const MOST_MS = 10_000
/** The share of the worker's time that is forgiven: ten seconds a minute. */
const FORGIVEN = 10_000 / 60_000
const MAX_TENANTS = 1_000

interface Debt {
  readonly ms: number
  readonly atMs: number
}

/** The time of the worker that slow bodies of each tenant took. All tenants share one worker: none may take all of its time. */
export class PackingTime {
  readonly #debts = new Map<string, Debt>()

  /** Whether bodies of the tenant must not be worked on now. */
  isSpent(tenant: string, nowMs: number): boolean {
    return this.#debtOf(tenant, nowMs) >= MOST_MS
  }

  /** Charges a tenant for a body that was worked on from one time to the other. */
  charge(tenant: string, fromMs: number, toMs: number): void {
    const ms = this.#debtOf(tenant, toMs) + Math.max(0, toMs - fromMs - FREE_MS)
    this.#debts.delete(tenant)
    if (ms === 0) return
    const [oldest] = this.#debts.keys()
    if (this.#debts.size >= MAX_TENANTS && oldest !== undefined) this.#debts.delete(oldest)
    this.#debts.set(tenant, { ms, atMs: toMs })
  }

  #debtOf(tenant: string, nowMs: number): number {
    const debt = this.#debts.get(tenant)
    return debt === undefined ? 0 : Math.max(0, debt.ms - Math.max(0, nowMs - debt.atMs) * FORGIVEN)
  }
}
