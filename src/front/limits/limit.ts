import type { AllowanceKind } from '../../shared/core/allowance.ts'
import type { BudgetMeasure, BudgetOwner } from '../../shared/core/budget.ts'
import type { LeaseBook, LeasedOfKind } from './lease-book.ts'

export interface LimitTerms<K extends AllowanceKind> {
  /** Whose limit it is, as a refusal names it. */
  readonly owner: 'API key' | 'user' | 'enterprise' | BudgetOwner
  /** Its id, where a refusal has to tell which one of several it is. */
  readonly holderId?: string
  /** The names of the models that it is for; absent: all models. */
  readonly models?: readonly string[]
  /** What of a request counts. */
  readonly measure: 'requests' | BudgetMeasure
  readonly allowance: string
  readonly kind: K
  readonly limit: number
}

/** A limit that a caller is under. The book forgets the lease of a limit that rests; the limit takes a new one at its next use. */
export class Limit<K extends AllowanceKind = AllowanceKind> {
  readonly owner: LimitTerms<K>['owner']
  readonly holderId: string | null
  readonly models: readonly string[] | null
  readonly measure: LimitTerms<K>['measure']
  readonly #book: LeaseBook
  readonly #kind: K
  #lease: LeasedOfKind[K]

  /** `isLatest` is false for terms of an older configuration than others may have: they change no lease that there is. */
  constructor(book: LeaseBook, terms: LimitTerms<K>, isLatest: boolean) {
    const { owner, holderId, models, measure, allowance, kind, limit } = terms
    this.owner = owner
    this.holderId = holderId ?? null
    this.models = models ?? null
    this.measure = measure
    this.#book = book
    this.#kind = kind
    this.#lease = book.lease(allowance, kind, limit, isLatest)
  }

  /** The lease that the book knows now. Callers do not keep it. */
  get lease(): LeasedOfKind[K] {
    const { id, limit, isForgotten } = this.#lease
    if (isForgotten) this.#lease = this.#book.lease(id, this.#kind, limit, false)
    return this.#lease
  }
}
