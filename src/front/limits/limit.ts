import type { AllowanceKind } from '../../shared/core/allowance.ts'
import type { BudgetMeasure, BudgetOwner } from '../../shared/core/budget.ts'
import type { LeasedLimit } from './leased-limit.ts'
import type { LeaseBook } from './lease-book.ts'

export interface LimitTerms {
  /** Whose limit it is, as a refusal names it. */
  readonly owner: 'API key' | 'user' | 'enterprise' | BudgetOwner
  /** What of a request counts. */
  readonly measure: 'requests' | BudgetMeasure
  readonly allowance: string
  readonly kind: AllowanceKind
  readonly limit: number
}

/** A limit that a caller is under. It lasts longer than its holding, which the book forgets when it rests. */
export class Limit {
  readonly owner: LimitTerms['owner']
  readonly measure: LimitTerms['measure']
  readonly #book: LeaseBook
  #holding: LeasedLimit

  constructor(book: LeaseBook, { owner, measure, allowance, kind, limit }: LimitTerms) {
    this.owner = owner
    this.measure = measure
    this.#book = book
    this.#holding = book.holding(allowance, kind, limit)
  }

  /** The one that the book knows. To be asked for at each use. */
  get holding(): LeasedLimit {
    const { id, kind, limit, isForgotten } = this.#holding
    if (isForgotten) this.#holding = this.#book.holding(id, kind, limit)
    return this.#holding
  }
}
