import { amountOf, microOf } from '../../format/money.ts'
import { countOf } from '../../format/numbers.ts'
import type { Enterprise, EnterpriseChange } from './enterprise-calls.ts'

const COUNTS = ['rpm', 'tpm', 'max_concurrency', 'monthly_tokens'] as const
const AMOUNTS = ['platform_monthly_budget', 'monthly_budget'] as const
const TEXTS = ['name', 'time_zone'] as const

export type DraftField = (typeof COUNTS)[number] | (typeof AMOUNTS)[number] | (typeof TEXTS)[number]

/** The fields of an enterprise as they are typed. They have the names of the API, so that its errors find them. */
export type EnterpriseDraft = Readonly<Record<DraftField, string>> & { readonly is_prepaid: boolean }

export const EMPTY_DRAFT: EnterpriseDraft = {
  name: '',
  time_zone: '',
  platform_monthly_budget: '',
  monthly_budget: '',
  rpm: '',
  tpm: '',
  max_concurrency: '',
  monthly_tokens: '',
  is_prepaid: false,
}

export const FIELDS: readonly string[] = Object.keys(EMPTY_DRAFT)

export function draftOf(shown: Enterprise): EnterpriseDraft {
  const count = (value: number | null): string => (value === null ? '' : String(value))
  const amount = (value: number | null): string => (value === null ? '' : amountOf(value))
  return {
    name: shown.name,
    time_zone: shown.time_zone,
    platform_monthly_budget: amount(shown.platform_monthly_budget),
    monthly_budget: amount(shown.monthly_budget),
    rpm: count(shown.rpm),
    tpm: count(shown.tpm),
    max_concurrency: count(shown.max_concurrency),
    monthly_tokens: count(shown.monthly_tokens),
    is_prepaid: shown.is_prepaid,
  }
}

export type DraftErrors = Partial<Record<DraftField, 'missing' | 'amount' | 'count'>>

export function errorsOf(draft: Partial<EnterpriseDraft>): DraftErrors {
  const errors: DraftErrors = {}
  if (draft.name?.trim() === '') errors.name = 'missing'
  const isWrong = (text: string | undefined, read: (text: string) => number | null): boolean =>
    text !== undefined && text.trim() !== '' && read(text) === null
  for (const field of AMOUNTS) if (isWrong(draft[field], microOf)) errors[field] = 'amount'
  for (const field of COUNTS) if (isWrong(draft[field], countOf)) errors[field] = 'count'
  return errors
}

/** The body of a change to the fields that are given; call it without errors. An empty field removes its limit. */
export function bodyOf(draft: Partial<EnterpriseDraft>): EnterpriseChange {
  const limits = [
    ...AMOUNTS.map((field) => [field, draft[field], microOf] as const),
    ...COUNTS.map((field) => [field, draft[field], countOf] as const),
  ].flatMap(([field, text, read]) => (text === undefined ? [] : [[field, read(text)] as const]))
  const texts = TEXTS.flatMap((field) => {
    const text = draft[field]?.trim() ?? ''
    return text === '' ? [] : [[field, text] as const]
  })
  return {
    ...(Object.fromEntries([...texts, ...limits]) as EnterpriseChange),
    ...(draft.is_prepaid === undefined ? {} : { is_prepaid: draft.is_prepaid }),
  }
}
