import { amountOf, microOf } from '../../format/money.ts'
import { countOf } from '../../format/numbers.ts'
import { dayIn, endOfDay } from '../../format/time.ts'
import type { AnyKey, KeyBody } from './key-calls.ts'

/** A budget of a month for some models, as it is typed. */
export interface ModelBudgetDraft {
  readonly models: readonly string[]
  readonly monthly_budget: string
  readonly monthly_tokens: string
}

/** The bodies that are kept. `default`: as the enterprise says; of a personal key, none. */
export interface CaptureDraft {
  readonly mode: 'default' | 'off' | 'on'
  readonly requests: boolean
  readonly answers: boolean
  /** Per cent of the requests. */
  readonly sample: string
  readonly redact: readonly string[]
  readonly retain_days: string
}

/** The fields of a key as they are typed. They have the names of the API, so that its errors find them. */
export interface KeyDraft {
  readonly name: string
  readonly monthly_budget: string
  readonly monthly_tokens: string
  readonly rpm: string
  readonly tpm: string
  readonly max_concurrency: string
  readonly models: readonly string[]
  readonly ip_allow: readonly string[]
  readonly client_allow: readonly string[]
  readonly mcp_tools: readonly string[]
  readonly model_budgets: readonly ModelBudgetDraft[]
  readonly capture: CaptureDraft
  /** A day; the key ends with it. */
  readonly expires_at: string
  readonly department_id: string
  readonly member_id: string
}

export type DraftField = keyof KeyDraft
export type DraftErrors = Partial<
  Record<DraftField, 'missing' | 'amount' | 'count' | 'past' | 'budget' | 'models' | 'sample' | 'days'>
>

const EMPTY_CAPTURE: CaptureDraft = {
  mode: 'default',
  requests: true,
  answers: true,
  sample: '100',
  redact: [],
  retain_days: '30',
}
export const EMPTY_MODEL_BUDGET: ModelBudgetDraft = { models: [], monthly_budget: '', monthly_tokens: '' }

export const EMPTY_DRAFT: KeyDraft = {
  name: '',
  monthly_budget: '',
  monthly_tokens: '',
  rpm: '',
  tpm: '',
  max_concurrency: '',
  models: [],
  ip_allow: [],
  client_allow: [],
  mcp_tools: [],
  model_budgets: [],
  capture: EMPTY_CAPTURE,
  expires_at: '',
  department_id: '',
  member_id: '',
}

export function draftOf(key: AnyKey, zone: string): KeyDraft {
  const count = (value: number | null | undefined): string =>
    value === null || value === undefined ? '' : String(value)
  const amount = (value: number | null | undefined): string =>
    value === null || value === undefined ? '' : amountOf(value)
  const { expires_at: expiresAt } = key
  return {
    name: key.name,
    monthly_budget: amount(key.monthly_budget),
    monthly_tokens: count(key.monthly_tokens),
    rpm: count(key.rpm),
    tpm: count(key.tpm),
    max_concurrency: count(key.max_concurrency),
    models: key.models ?? [],
    ip_allow: key.ip_allow ?? [],
    client_allow: key.client_allow ?? [],
    mcp_tools: key.mcp_tools ?? [],
    model_budgets: (key.model_budgets ?? []).map((budget) => ({
      models: budget.models,
      monthly_budget: amount(budget.monthly_budget),
      monthly_tokens: count(budget.monthly_tokens),
    })),
    capture: captureDraftOf(key.capture),
    // The key ends with the day before its last moment, seen from its end.
    expires_at: expiresAt === null ? '' : dayIn(new Date(Date.parse(expiresAt) - 1), zone),
    department_id: key.department_id ?? '',
    member_id: key.member_id ?? '',
  }
}

function captureDraftOf(capture: AnyKey['capture']): CaptureDraft {
  if (capture === null) return EMPTY_CAPTURE
  const { requests, answers, sample, redact, retain_days: days } = capture
  const percent = String(Math.round(sample * 100_000) / 1_000)
  if (!requests && !answers)
    return { ...EMPTY_CAPTURE, mode: 'off', redact, sample: percent, retain_days: String(days) }
  return { mode: 'on', requests, answers, sample: percent, redact, retain_days: String(days) }
}

const COUNTS = ['monthly_tokens', 'rpm', 'tpm', 'max_concurrency'] as const

/** Checks what can be checked here; the gateway has the last word. */
export function errorsOf(draft: Partial<KeyDraft>, zone: string, now: Date): DraftErrors {
  const errors: DraftErrors = {}
  if (draft.name?.trim() === '') errors.name = 'missing'
  if (draft.monthly_budget !== undefined && isNoAmount(draft.monthly_budget)) errors.monthly_budget = 'amount'
  for (const field of COUNTS) {
    const text = draft[field]
    if (text !== undefined && isNoCount(text)) errors[field] = 'count'
  }
  const budget = draft.model_budgets?.map(modelBudgetError).find((error) => error !== null)
  if (budget !== undefined) errors.model_budgets = budget
  if (draft.capture?.mode === 'on') {
    const { sample, retain_days: days } = draft.capture
    if (shareOf(sample) === null) errors.capture = 'sample'
    else if (!/^\d{1,3}$/.test(days.trim()) || Number(days) < 1 || Number(days) > MAX_RETAIN_DAYS)
      errors.capture = 'days'
  }
  if (draft.expires_at !== undefined && draft.expires_at !== '' && endOfDay(draft.expires_at, zone) <= now) {
    errors.expires_at = 'past'
  }
  return errors
}

const MAX_RETAIN_DAYS = 365

function isNoAmount(text: string): boolean {
  return text.trim() !== '' && microOf(text) === null
}

function isNoCount(text: string): boolean {
  return text.trim() !== '' && countOf(text) === null
}

/** The first thing that is wrong with a budget for some models; null when nothing is. */
export function modelBudgetError({
  models,
  monthly_budget: budget,
  monthly_tokens: tokens,
}: ModelBudgetDraft): 'models' | 'amount' | 'count' | 'budget' | null {
  if (models.length === 0) return 'models'
  if (isNoAmount(budget)) return 'amount'
  if (isNoCount(tokens)) return 'count'
  return budget.trim() === '' && tokens.trim() === '' ? 'budget' : null
}

/** Reads per cent as a share from 0 to 1. */
function shareOf(text: string): number | null {
  const plain = text.trim()
  if (!/^\d{1,3}(\.\d{1,3})?$/.test(plain)) return null
  const share = Number(plain) / 100
  return share <= 1 ? share : null
}

/** The body of a change to the fields that are given; call it without errors. An empty field removes its limit. */
export function bodyOf(draft: Partial<KeyDraft>, zone: string): Partial<KeyBody> {
  const { model_budgets: budgets, capture, ...rest } = draft
  const body: Record<string, unknown> = {}
  if (budgets !== undefined) body['model_budgets'] = budgets.length === 0 ? null : budgets.map(modelBudgetOf)
  if (capture !== undefined) body['capture'] = captureOf(capture)
  for (const [field, value] of Object.entries(rest) as Array<[keyof typeof rest, string | readonly string[]]>) {
    if (typeof value !== 'string') body[field] = value.length === 0 ? null : value
    else if (field === 'name') body[field] = value.trim()
    else if (value.trim() === '') body[field] = null
    else if (field === 'monthly_budget') body[field] = microOf(value)
    else if (field === 'expires_at') body[field] = endOfDay(value, zone).toISOString()
    else if ((COUNTS as readonly string[]).includes(field)) body[field] = countOf(value)
    else body[field] = value
  }
  return body
}

function modelBudgetOf({ models, monthly_budget: budget, monthly_tokens: tokens }: ModelBudgetDraft): object {
  return {
    models,
    monthly_budget: budget.trim() === '' ? null : microOf(budget),
    monthly_tokens: tokens.trim() === '' ? null : countOf(tokens),
  }
}

function captureOf({ mode, requests, answers, sample, redact, retain_days: days }: CaptureDraft): object | null {
  if (mode === 'default') return null
  if (mode === 'off') return { requests: false, answers: false }
  return { requests, answers, sample: shareOf(sample), redact, retain_days: Number(days) }
}
