import type { SettledSpend } from './authority.ts'
import type { LeaseUnit } from './lease-unit.ts'

export interface SettledSpendAuditsOptions {
  readonly budgets: SettledSpend
  /** This machine's name for a journal, the same on all machines. */
  readonly writerName: (writer: string) => string
  /** A unit of this machine that deals with the budget, if there is one. */
  readonly unitOf: (allowance: string) => LeaseUnit | undefined
  /** A unit has an audit to tell Redis. */
  readonly onAudited: (unit: LeaseUnit) => void
  readonly onFault: (cause: unknown) => void
}

/** Tells Redis what the database has of each budget: at the first use of a budget, and whenever a journal of this machine is closed. */
export class SettledSpendAudits {
  readonly #options: SettledSpendAuditsOptions
  /** Journals of this machine that may have more to tell. */
  readonly #living = new Set<string>()
  /** How often a journal has begun or ended: a read is repeated if one did meanwhile. */
  #changes = 0
  /** Budgets whose audit is done, or under way. */
  readonly #audited = new Set<string>()

  constructor(options: SettledSpendAuditsOptions) {
    this.#options = options
  }

  began(writer: string): void {
    if (this.#living.has(writer)) return
    this.#living.add(writer)
    this.#changes += 1
  }

  /** Returns false if the journal was closed before. */
  ended(writer: string): boolean {
    if (!this.#living.delete(writer)) return false
    this.#changes += 1
    this.#audited.clear()
    return true
  }

  /** The next `audit` reads the database again. */
  forget(allowance: string): void {
    this.#audited.delete(allowance)
  }

  audit(allowance: string): void {
    if (this.#audited.has(allowance)) return
    this.#audited.add(allowance)
    this.#read(allowance).catch(this.#options.onFault)
  }

  async #read(allowance: string): Promise<void> {
    const { budgets, writerName, unitOf, onAudited } = this.#options
    let changes: number
    let settled: ReadonlyMap<string, number>
    do {
      changes = this.#changes
      settled = (await budgets.read([allowance])).get(allowance) ?? new Map<string, number>()
    } while (changes !== this.#changes)
    const unit = unitOf(allowance)
    if (unit === undefined) {
      this.#audited.delete(allowance)
      return
    }
    const amounts = Object.fromEntries([...settled].map(([writer, amount]) => [writerName(writer), amount] as const))
    unit.settled({ amounts, living: [...this.#living].map(writerName) })
    onAudited(unit)
  }
}
