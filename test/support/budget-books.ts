import type { SettledSpend } from '../../src/control/leases/authority.ts'
import { writerOf } from './lease-world.ts'
import type { LeaseWorld, WorldFront, WorldNode } from './lease-world.ts'
import type { SeededRandom } from './seeded-random.ts'

const SETTLED_WITHIN_MS = 1_500
const POLL_MS = 50

interface Budget {
  spent: number
  /** Held for requests under way, by journal. They end with their front, at no cost. */
  readonly reserved: Map<string, number>
  /** In the database, by journal. */
  readonly settled: Map<string, number>
}

/** What requests cost, and the database, which learns of it from the journals of fronts a while later. */
export class BudgetBooks {
  /** Of all budgets: the most that was used and held for requests under way, together, ÷ the limit. */
  most = 0
  readonly #world: () => LeaseWorld
  readonly #random: SeededRandom
  readonly #budgets = new Map<string, Budget>()
  /** Requests that ended and are not in the database, by journal. */
  readonly #unsettled = new Map<string, number>()
  readonly #dead = new Map<string, WorldNode>()

  constructor(world: () => LeaseWorld, random: SeededRandom) {
    this.#world = world
    this.#random = random
  }

  /** What the control process of a machine reads: everything of the journals that ended there, of others as far as it has come. */
  truthOf(node: WorldNode): SettledSpend {
    return {
      read: (allowances) =>
        new Promise((resolve) => {
          const world = this.#world()
          const look = (): void => {
            if (this.#isBehind(node)) {
              world.after(POLL_MS, look)
              return
            }
            const rows = new Map(allowances.map((allowance) => [allowance, new Map(this.#budget(allowance).settled)]))
            world.after(this.#random.next() * 50, () => {
              resolve(rows)
            })
          }
          world.after(this.#random.next() * 50, look)
        }),
    }
  }

  spentOf(allowance: string): number {
    return this.#budget(allowance).spent
  }

  /** A request that may cost `worst` and costs `actual`. Resolves to whether it was let in, as soon as that is known. */
  async request(
    front: WorldFront,
    { allowance, limit }: { readonly allowance: string; readonly limit: number },
    { worst, actual, durationMs }: { readonly worst: number; readonly actual: number; readonly durationMs: number },
  ): Promise<boolean> {
    const world = this.#world()
    const budget = this.#budget(allowance)
    const holding = front.book.lease(allowance, 'budget', limit)
    const writer = this.#writer(front)
    const { node } = front
    const taken = await holding.obtain(worst, world.nowMs + node.skewMs)
    if (!('bucket' in taken) || this.#dead.has(writer)) return false
    const reserve = (amount: number): void => {
      budget.reserved.set(writer, (budget.reserved.get(writer) ?? 0) + amount)
      let together = budget.spent
      for (const [by, reserved] of budget.reserved) if (!this.#dead.has(by)) together += reserved
      this.most = Math.max(this.most, together / limit)
    }
    reserve(worst)
    world.after(durationMs, () => {
      if (this.#dead.has(writer)) return
      reserve(-worst)
      holding.correct(0, actual - worst)
      budget.spent += actual
      this.#count(writer, 1)
      const settle = (): void => {
        // The settler is part of the control process.
        if (node.authority === null) {
          world.after(this.#random.next() * SETTLED_WITHIN_MS, settle)
          return
        }
        budget.settled.set(writer, (budget.settled.get(writer) ?? 0) + actual)
        this.#count(writer, -1)
        this.#closeIfDone(writer)
      }
      world.after(this.#random.next() * SETTLED_WITHIN_MS, settle)
    })
    return true
  }

  /** To be said before the front is gone; its journal is closed when all of it is in the database. */
  crashes(front: WorldFront): void {
    const writer = this.#writer(front)
    this.#dead.set(writer, front.node)
    this.#world().after(this.#random.next() * 500, () => {
      this.#closeIfDone(writer)
    })
  }

  #budget(allowance: string): Budget {
    let budget = this.#budgets.get(allowance)
    if (budget === undefined) {
      this.#budgets.set(allowance, (budget = { spent: 0, reserved: new Map(), settled: new Map() }))
    }
    return budget
  }

  #isBehind(node: WorldNode): boolean {
    for (const [writer, of] of this.#dead) if (of === node && (this.#unsettled.get(writer) ?? 0) > 0) return true
    return false
  }

  #count(writer: string, by: number): void {
    this.#unsettled.set(writer, (this.#unsettled.get(writer) ?? 0) + by)
  }

  #closeIfDone(writer: string): void {
    const node = this.#dead.get(writer)
    if (node !== undefined && (this.#unsettled.get(writer) ?? 0) === 0) {
      node.authority?.ended(writer.slice(writer.indexOf('/') + 1))
    }
  }

  /** As the database has it where there are several machines. */
  #writer(front: WorldFront): string {
    return this.#world().isShared ? `${front.node.name}/${writerOf(front)}` : writerOf(front)
  }
}
