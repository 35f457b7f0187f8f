import { BudgetBooks } from './budget-books.ts'
import type { LeaseLane } from './lease-lane.ts'
import { LeaseWorld } from './lease-world.ts'
import type { WorldFront } from './lease-world.ts'
import type { SeededRandom } from './seeded-random.ts'

export const BUDGET = 'budget:money:key:k:2026-11'
/** Fronts of each machine. */
const FRONTS = { alone: 3, shared: 2 } as const
const MACHINES = 2

/** The fronts that use one budget, of one machine or, with a Redis, of two, with the faults that can happen to them. */
export class BudgetWorld {
  readonly leases: LeaseWorld
  readonly #books: BudgetBooks
  readonly #random: SeededRandom

  /** @param lane to a Redis; without it, the authority is in process */
  constructor(random: SeededRandom, lane?: LeaseLane) {
    this.#random = random
    this.#books = new BudgetBooks(() => this.leases, random)
    this.leases = new LeaseWorld({
      random: () => random.next(),
      ...(lane === undefined ? { fronts: FRONTS.alone } : { fronts: FRONTS.shared, nodes: MACHINES, lane }),
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
    const { fronts } = this.leases
    return fronts[this.#random.between(0, fronts.length - 1)] as WorldFront
  }

  /** Simulates a request with a reservation of `worst` and a cost of `actual`. Resolves to whether it was admitted. */
  request(front: WorldFront, limit: number, worst: number, actual: number, durationMs: number): Promise<boolean> {
    return this.#books.request(front, { allowance: BUDGET, limit }, { worst, actual, durationMs })
  }

  /** Settles use of a journal of the machine of `front` that is closed. */
  settleLate({ node }: WorldFront, amount: number): void {
    this.#books.settleLate(node, BUDGET, amount)
  }

  crash(front: WorldFront): void {
    this.#books.crashes(front)
    this.leases.crash(front)
  }

  restart(): void {
    const { nodes } = this.leases
    this.leases.restartAuthority(200 + this.#random.next() * 2_000, nodes[this.#random.between(0, nodes.length - 1)])
  }
}
