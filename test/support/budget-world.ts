import { BudgetBooks } from './budget-books.ts'
import type { LeaseLane } from './lease-lane.ts'
import { LeaseWorld } from './lease-world.ts'
import type { WorldFront } from './lease-world.ts'
import type { SeededRandom } from './seeded-random.ts'

export const BUDGET = 'budget:money:key:k:2026-11'
const FRONTS = 3

/** The fronts of one machine that use one budget, with the faults that can happen to them. */
export class BudgetWorld {
  readonly leases: LeaseWorld
  readonly #books: BudgetBooks
  readonly #random: SeededRandom

  /** @param lane to a Redis; without it, the authority is in process */
  constructor(random: SeededRandom, lane?: LeaseLane) {
    this.#random = random
    this.#books = new BudgetBooks(() => this.leases, random)
    this.leases = new LeaseWorld({
      fronts: FRONTS,
      random: () => random.next(),
      ...(lane === undefined ? {} : { lane }),
      budgets: (node) => this.#books.truthOf(node),
    })
  }

  /** Cost of the requests that have ended. */
  get spent(): number {
    return this.#books.spentOf(BUDGET)
  }

  /** Largest sum of cost and running reservations ÷ limit. */
  get most(): number {
    return this.#books.most
  }

  front(): WorldFront {
    return this.leases.fronts[this.#random.between(0, FRONTS - 1)] as WorldFront
  }

  /** Simulates a request with a reservation of `worst` and a cost of `actual`. Resolves to whether it was admitted. */
  request(front: WorldFront, limit: number, worst: number, actual: number, durationMs: number): Promise<boolean> {
    return this.#books.request(front, { allowance: BUDGET, limit }, { worst, actual, durationMs })
  }

  crash(front: WorldFront): void {
    this.#books.crashes(front)
    this.leases.crash(front)
  }

  restart(): void {
    this.leases.restartAuthority(200 + this.#random.next() * 2_000)
  }
}
