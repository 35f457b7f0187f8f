/**
 * What was used of one budget. The database knows what was settled, by the journal that told it; fronts tell what they used
 * in all, settled or not. So the truth is what the database has of journals that are closed, and the word of the living about
 * their own.
 *
 * Told is at least as much as was used: reservations count in full until the truth is known, and what a front held when it was
 * lost counts as used until its journal is closed.
 */
export class BudgetCount {
  /** By journals that are closed, and by those of other nodes. */
  #settled = 0
  readonly #told = new Map<string, number>()
  #used = 0
  #isRead = false

  /** The database has been asked: `used` is the truth. */
  get isRead(): boolean {
    return this.#isRead
  }

  get used(): number {
    return this.#used
  }

  /** Whether the database has been asked, and since the writer was first heard of: only then can more be granted to it. */
  knows(writer: string): boolean {
    return this.#isRead && this.#told.has(writer)
  }

  charge(writer: string, amount: number): void {
    this.#told.set(writer, (this.#told.get(writer) ?? 0) + amount)
    this.#used += amount
  }

  toldBy(writer: string): number {
    return this.#told.get(writer) ?? 0
  }

  /** What the writer has used in all; null: it does not know itself. */
  tell(writer: string, total: number | null): void {
    if (total === null) this.#told.delete(writer)
    else this.#told.set(writer, total)
    this.#add()
  }

  /** What the database has, by journal. Those that are not `living` are closed: this is all of theirs. */
  learn(settled: ReadonlyMap<string, number>, living: ReadonlySet<string>): void {
    this.#isRead = true
    this.#settled = 0
    for (const [writer, amount] of settled) if (!living.has(writer)) this.#settled += amount
    for (const writer of this.#told.keys()) if (!living.has(writer)) this.#told.delete(writer)
    for (const writer of living) if (!this.#told.has(writer)) this.#told.set(writer, settled.get(writer) ?? 0)
    this.#add()
  }

  #add(): void {
    this.#used = this.#settled
    for (const amount of this.#told.values()) this.#used += amount
  }
}
