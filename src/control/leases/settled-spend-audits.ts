import type { SettledSpend } from './authority.ts'
import type { LeaseUnit } from './lease-unit.ts'

export interface SettledSpendAuditsOptions {
  readonly budgets: SettledSpend
  /** This machine's name for a journal, the same on all machines. */
  readonly writerName: (writer: string) => string
  /** A unit of this machine that tells Redis of the budget. */
  readonly unitOf: (allowance: string) => LeaseUnit
  /** Asks Redis how much of budgets is taken: a text, which is empty where it does not know. Anything else is no answer. */
  readonly askTaken: (allowances: readonly string[]) => Promise<readonly unknown[]>
  /** A unit has an audit to tell Redis. */
  readonly onAudited: (unit: LeaseUnit) => void
  readonly onFault: (cause: unknown) => void
}

/** Budgets in one question. */
const MOST_ASKED = 256

/** Tells Redis what the database has of each budget: at the first use of a budget, and whenever a journal of this machine is closed. */
export class SettledSpendAudits {
  readonly #options: SettledSpendAuditsOptions
  /** Journals of this machine that may have more to tell. */
  readonly #living = new Set<string>()
  /** How often a journal has begun, ended or been settled late: a read is repeated if one did meanwhile. */
  #changes = 0
  /** Budgets whose audit is done, or under way. */
  readonly #audited = new Set<string>()
  /** Budgets that fronts held when they went, by journal: until it is closed, what they held counts as used. */
  readonly #left = new Map<string, Set<string>>()
  /** Budgets of journals that were closed or settled late: Redis is to be told of them. */
  readonly #closed = new Set<string>()
  #isAsking = false

  constructor(options: SettledSpendAuditsOptions) {
    this.#options = options
  }

  began(writer: string): void {
    if (this.#living.has(writer)) return
    this.#living.add(writer)
    this.#changes += 1
  }

  /** A front has gone that dealt with these budgets. */
  left(writer: string, allowances: readonly string[]): void {
    if (allowances.length === 0) return
    this.#left.set(writer, new Set([...(this.#left.get(writer) ?? []), ...allowances]))
  }

  /** The journal of a writer that used these budgets is closed. */
  ended(writer: string, allowances: readonly string[]): void {
    this.#living.delete(writer)
    this.#changes += 1
    this.#audited.clear()
    for (const allowance of [...allowances, ...(this.#left.get(writer) ?? [])]) this.#closed.add(allowance)
    this.#left.delete(writer)
  }

  settledLate(allowances: readonly string[]): void {
    this.#changes += 1
    for (const allowance of allowances) {
      this.forget(allowance)
      this.#closed.add(allowance)
    }
  }

  /** Asks Redis which of the budgets of closed journals it knows, and audits these. To be called while Redis can be asked. */
  tick(): void {
    if (this.#closed.size === 0 || this.#isAsking) return
    this.#isAsking = true
    this.#auditClosed()
      .catch(this.#options.onFault)
      .finally(() => (this.#isAsking = false))
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

  /**
   * Other machines know the sum of all closed journals from the database: what Redis has under the name of one of these counts twice
   * until it is told. A budget that Redis does not know has no such name.
   */
  async #auditClosed(): Promise<void> {
    const allowances = [...this.#closed].slice(0, MOST_ASKED)
    const answers = await this.#options.askTaken(allowances)
    const known: string[] = []
    for (const [at, allowance] of allowances.entries()) {
      const answer = answers[at]
      if (typeof answer !== 'string') continue
      this.#closed.delete(allowance)
      if (answer !== '') known.push(allowance)
    }
    this.audit(known)
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
