import { budgetOfAllowance } from '../../src/shared/core/budget.ts'
import type { SettledSpend } from '../../src/control/leases/authority.ts'
import { writerOf } from './lease-world.ts'
import type { LeaseWorld, WorldFront, WorldNode } from './lease-world.ts'
import type { SeededRandom } from './seeded-random.ts'

const SETTLED_WITHIN_MS = 1_500
const POLL_MS = 50

interface Budget {
  spent: number
  /** Reservations of running requests, by journal. When a front crashes, its requests end at no cost. */
  readonly reserved: Map<string, number>
  /** Settled cost in the database, by journal. */
  readonly settled: Map<string, number>
}

/** Simulates the cost of requests and the database, which gets the costs later from the journals of the fronts. */
export class BudgetBooks {
  /** Largest sum of cost and running reservations ÷ limit, over all budgets. */
  most = 0
  readonly #world: () => LeaseWorld
  readonly #random: SeededRandom
  readonly #budgets = new Map<string, Budget>()
  /** Number of ended requests that are not in the database, by journal. */
  readonly #unsettled = new Map<string, number>()
  readonly #dead = new Map<string, WorldNode>()

  constructor(world: () => LeaseWorld, random: SeededRandom) {
    this.#world = world
    this.#random = random
  }

  /** The settled spend that the control process of a machine reads: complete for the journals that ended on this machine. */
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

  /** Simulates a request with a reservation of `worst` and a cost of `actual`. Resolves to whether it was admitted. */
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

  /** Settles use of a journal that is closed, as the retry of a dead letter does. */
  settleLate({ name, authority }: WorldNode, allowance: string, amount: number): void {
    const budget = this.#budget(allowance)
    budget.spent += amount
    budget.settled.set(`${name}/closed`, amount)
    authority?.settledLate([budgetOfAllowance(allowance)?.name ?? ''])
  }

  /** To be called before a front crashes. Its journal is closed when all its records are in the database. */
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

  /** As the settler does: what the journal used is merged into the use without a journal, and the authority is told. */
  #closeIfDone(writer: string): void {
    const node = this.#dead.get(writer)
    if (node === undefined || (this.#unsettled.get(writer) ?? 0) > 0) return
    if (node.authority === null) {
      this.#world().after(POLL_MS, () => {
        this.#closeIfDone(writer)
      })
      return
    }
    const closed: string[] = []
    for (const [allowance, { settled }] of this.#budgets) {
      const used = settled.get(writer)
      if (used === undefined) continue
      settled.delete(writer)
      settled.set('', (settled.get('') ?? 0) + used)
      closed.push(budgetOfAllowance(allowance)?.name ?? '')
    }
    node.authority.ended(writer.slice(writer.indexOf('/') + 1), closed)
  }

  /** The name of the front's journal; with several machines it includes the machine, as in the database. */
  #writer(front: WorldFront): string {
    return this.#world().isShared ? `${front.node.name}/${writerOf(front)}` : writerOf(front)
  }
}
