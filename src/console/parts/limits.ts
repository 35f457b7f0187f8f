import { amountOf, microOf } from '../format/money.ts'
import { countOf } from '../format/numbers.ts'

/** Limits and budgets of a member, department or enterprise as they are typed, with the names of the API. */
export interface LimitDraft {
  readonly monthly_budget: string
  readonly monthly_tokens: string
  readonly rpm: string
  readonly tpm: string
  readonly max_concurrency: string
  readonly model_budgets: readonly ModelBudgetDraft[]
}

export interface ModelBudgetDraft {
  readonly models: readonly string[]
  readonly monthly_budget: string
  readonly monthly_tokens: string
}

export type LimitError = 'amount' | 'count' | 'models' | 'empty'
/** By the name of the field; fields of a model budget are `model_budgets/0`. */
export type LimitErrors = Readonly<Record<string, LimitError>>

export interface Limited {
  readonly monthly_budget: number | null
  readonly monthly_tokens: number | null
  readonly rpm: number | null
  readonly tpm: number | null
  readonly max_concurrency: number | null
  readonly model_budgets: ReadonlyArray<{
    readonly models: readonly string[]
    readonly monthly_budget: number | null
    readonly monthly_tokens: number | null
  }>
}

/** The names of the API, for its errors. */
export const LIMIT_FIELDS = [
  'monthly_budget',
  'monthly_tokens',
  'rpm',
  'tpm',
  'max_concurrency',
  'model_budgets',
] as const

export const NO_LIMITS: LimitDraft = {
  monthly_budget: '',
  monthly_tokens: '',
  rpm: '',
  tpm: '',
  max_concurrency: '',
  model_budgets: [],
}

const COUNTS = ['monthly_tokens', 'rpm', 'tpm', 'max_concurrency'] as const

export function limitDraftOf(limited: Limited): LimitDraft {
  return {
    monthly_budget: amountText(limited.monthly_budget),
    monthly_tokens: countText(limited.monthly_tokens),
    rpm: countText(limited.rpm),
    tpm: countText(limited.tpm),
    max_concurrency: countText(limited.max_concurrency),
    model_budgets: limited.model_budgets.map((budget) => ({
      models: budget.models,
      monthly_budget: amountText(budget.monthly_budget),
      monthly_tokens: countText(budget.monthly_tokens),
    })),
  }
}

/** Checks what can be checked here; the gateway has the last word. */
export function limitErrorsOf(draft: Partial<LimitDraft>): LimitErrors {
  const errors: Record<string, LimitError> = {}
  if (isWrong(draft.monthly_budget, microOf)) errors['monthly_budget'] = 'amount'
  for (const field of COUNTS) if (isWrong(draft[field], countOf)) errors[field] = 'count'
  for (const [at, budget] of (draft.model_budgets ?? []).entries()) {
    const name = `model_budgets/${at}`
    if (budget.models.length === 0) errors[name] = 'models'
    else if (isWrong(budget.monthly_budget, microOf)) errors[name] = 'amount'
    else if (isWrong(budget.monthly_tokens, countOf)) errors[name] = 'count'
    else if (budget.monthly_budget.trim() === '' && budget.monthly_tokens.trim() === '') errors[name] = 'empty'
  }
  return errors
}

export interface LimitBody {
  monthly_budget?: number | null
  monthly_tokens?: number | null
  rpm?: number | null
  tpm?: number | null
  max_concurrency?: number | null
  model_budgets?: Array<{ models: string[]; monthly_budget: number | null; monthly_tokens: number | null }>
}

/** The body of a change to the fields that are given; call it without errors. An empty field removes its limit. */
export function limitBodyOf(draft: Partial<LimitDraft>): LimitBody {
  const body: LimitBody = {}
  if (draft.monthly_budget !== undefined) body.monthly_budget = microOf(draft.monthly_budget)
  for (const field of COUNTS) {
    const text = draft[field]
    if (text !== undefined) body[field] = countOf(text)
  }
  if (draft.model_budgets !== undefined) {
    body.model_budgets = draft.model_budgets.map((budget) => ({
      models: [...budget.models],
      monthly_budget: microOf(budget.monthly_budget),
      monthly_tokens: countOf(budget.monthly_tokens),
    }))
  }
  return body
}

function isWrong(text: string | undefined, read: (text: string) => number | null): boolean {
  return text !== undefined && text.trim() !== '' && read(text) === null
}

function amountText(micro: number | null): string {
  return micro === null ? '' : amountOf(micro)
}

function countText(count: number | null): string {
  return count === null ? '' : String(count)
}
