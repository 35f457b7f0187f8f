import type { SettledSpend } from './authority.ts'
import type { LeaseUnit } from './lease-unit.ts'

export interface SettledSpendAuditsOptions {
  readonly budgets: SettledSpend
  /** This machine's name for a journal, the same on all machines. */
  readonly writerName: (writer: string) => string
  /** A unit of this machine that tells Redis of the budget. */
  readonly unitOf: (allowance: string) => LeaseUnit
  /** A unit has an audit to tell Redis. */
  readonly onAudited: (unit: LeaseUnit) => void
  readonly onFault: (cause: unknown) => void
}

/** Tells Redis what the database has of each budget: at the first use of a budget, and whenever a journal of this machine is closed. */
export class SettledSpendAudits {
  readonly #options: SettledSpendAuditsOptions
  /** Journals of this machine that may have more to tell. */
  readonly #living = new Set<string>()
  /** How often a journal has begun, ended or been settled late: a read is repeated if one did meanwhile. */
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

  ended(writer: string): void {
    this.#living.delete(writer)
    this.#changes += 1
    this.#audited.clear()
  }

  settledLate(allowances: readonly string[]): void {
    this.#changes += 1
    for (const allowance of allowances) this.forget(allowance)
  }

  /** The next `audit` reads the database again. */
  forget(allowance: string): void {
    this.#audited.delete(allowance)
  }

  audit(allowances: readonly string[]): void {
    const unread = allowances.filter((allowance) => !this.#audited.has(allowance))
    if (unread.length === 0) return
    for (const allowance of unread) this.#audited.add(allowance)
    this.#read(unread).catch(this.#options.onFault)
  }

  async #read(allowances: readonly string[]): Promise<void> {
    const { budgets, writerName, unitOf, onAudited } = this.#options
    let changes: number
    let settled: Awaited<ReturnType<SettledSpend['read']>>
    do {
      changes = this.#changes
      settled = await budgets.read(allowances)
    } while (changes !== this.#changes)
    const living = [...this.#living].map(writerName)
    for (const allowance of allowances) {
      const used = [...(settled.get(allowance) ?? [])]
      const unit = unitOf(allowance)
      unit.settled({
        amounts: Object.fromEntries(used.map(([writer, amount]) => [writerName(writer), amount])),
        living,
      })
      onAudited(unit)
    }
  }
}
