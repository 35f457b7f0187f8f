import type { LeaseFarewell, LeaseReply, LeaseRequest, LeaseResume } from '../../shared/core/allowance.ts'

/**
 * Hands slices of allowances out to holders, and never more than what is left. What a holder holds counts as used until the
 * holder says what it used, and when, or gives it back.
 */
export interface Authority {
  /** What this authority remembers began with it; a holder that knows another epoch tells what it used before. Null: away. */
  readonly epoch: string | null
  /** A holder is there, again or for the first time. */
  resume(holder: string, state: LeaseResume): void
  /** Books charges, takes back returns, then serves the asks; every reply goes through {@link AuthorityOptions.reply}. */
  exchange(holder: string, request: LeaseRequest): void
  /** A holder is about to end. */
  farewell(farewell: LeaseFarewell): void
  /** A holder is gone: its slots are free, and its leases of rate limits count as used at this moment. */
  gone(holder: string): void
  /**
   * How much of budgets is used or leased, by allowance. Those that the authority has not dealt with lately are left out. Resolves
   * within a second, with nothing while the authority is away.
   */
  budgetsTaken(allowances: readonly string[]): Promise<ReadonlyMap<string, number>>
  /**
   * A journal is closed: all that its writer used is in the database, under no writer's name, and it will use no more.
   * @param budgets names of the budgets that it used
   */
  ended(writer: string, budgets: readonly string[]): void
  /**
   * The database has more use of budgets than before, by a writer whose journal may be closed.
   * @param budgets their names
   */
  settledLate(budgets: readonly string[]): void
}

/** What was used of budgets, as the database has it. */
export interface SettledSpend {
  /**
   * For each allowance what was settled of it, by the journal that told it. Never rejects: it is tried until it is there, and
   * not before what the journals held when the process began is settled.
   */
  read(allowances: readonly string[]): Promise<ReadonlyMap<string, ReadonlyMap<string, number>>>
}

export interface AuthorityOptions {
  readonly reply: (holder: string, reply: LeaseReply) => void
}
