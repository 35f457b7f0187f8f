import type { LeaseLane } from './lease-lane.ts'
import { LeaseWorld, writerOf } from './lease-world.ts'
import type { WorldFront } from './lease-world.ts'
import type { SeededRandom } from './seeded-random.ts'

export const BUDGET = 'budget:money:key:k:2026-11'
const FRONTS = 3
const SETTLED_WITHIN_MS = 1_500

/** Fronts that use one budget, a database that learns of it from their journals a while later, and what can befall them. */
export class BudgetWorld {
  readonly leases: LeaseWorld
  /** What was used by requests that ended. */
  spent = 0
  /** The most that was used and held for requests under way, together. */
  most = 0
  readonly #random: SeededRandom
  readonly #settled = new Map<string, number>()
  /** Held for requests under way, by journal. They end with their front, at no cost. */
  readonly #reserved = new Map<string, number>()
  /** Ended and not in the database, by journal. */
  readonly #unsettled = new Map<string, number>()
  readonly #dead = new Set<string>()
  #drainedMs = 0

  /** @param lane to a Redis; without it the authority is in process */
  constructor(random: SeededRandom, lane?: LeaseLane) {
    this.#random = random
    this.leases = new LeaseWorld({
      fronts: FRONTS,
      random: () => random.next(),
      ...(lane === undefined ? {} : { lane }),
      budgets: {
        read: (allowances) =>
          new Promise((resolve) => {
            const waitMs = Math.max(0, this.#drainedMs - this.leases.nowMs) + random.next() * 50
            this.leases.after(waitMs, () => {
              const rows = new Map(this.#settled)
              this.leases.after(random.next() * 50, () => {
                resolve(new Map(allowances.map((allowance) => [allowance, rows])))
              })
            })
          }),
      },
    })
  }

  front(): WorldFront {
    return this.leases.fronts[this.#random.between(0, FRONTS - 1)] as WorldFront
  }

  /** A request that may cost `worst` and costs `actual`. Resolves to whether it was let in, as soon as that is known. */
  async request(front: WorldFront, limit: number, worst: number, actual: number, durationMs: number): Promise<boolean> {
    const { leases } = this
    const holding = front.book.holding(BUDGET, 'budget', limit)
    const writer = writerOf(front)
    const taken = await holding.obtain(worst, leases.nowMs)
    if (!('cell' in taken) || this.#dead.has(writer)) return false
    this.#reserve(writer, worst)
    leases.after(durationMs, () => {
      if (this.#dead.has(writer)) return
      this.#reserve(writer, -worst)
      holding.correct(0, actual - worst)
      this.spent += actual
      this.#unsettled.set(writer, (this.#unsettled.get(writer) ?? 0) + 1)
      leases.after(this.#random.next() * SETTLED_WITHIN_MS, () => {
        this.#settled.set(writer, (this.#settled.get(writer) ?? 0) + actual)
        this.#unsettled.set(writer, (this.#unsettled.get(writer) ?? 0) - 1)
        this.#closeIfDone(writer)
      })
    })
    return true
  }

  crash(front: WorldFront): void {
    const writer = writerOf(front)
    this.#dead.add(writer)
    this.#reserved.delete(writer)
    this.leases.crash(front)
    this.leases.after(this.#random.next() * 500, () => {
      this.#closeIfDone(writer)
    })
  }

  restart(): void {
    const awayMs = 200 + this.#random.next() * 2_000
    this.leases.restartAuthority(awayMs)
    this.#drainedMs = this.leases.nowMs + awayMs + SETTLED_WITHIN_MS
  }

  #reserve(writer: string, amount: number): void {
    this.#reserved.set(writer, (this.#reserved.get(writer) ?? 0) + amount)
    let together = this.spent
    for (const reserved of this.#reserved.values()) together += reserved
    this.most = Math.max(this.most, together)
  }

  #closeIfDone(writer: string): void {
    if (this.#dead.has(writer) && (this.#unsettled.get(writer) ?? 0) === 0) this.leases.ended(writer)
  }
}
