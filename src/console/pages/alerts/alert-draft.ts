import { withoutGroups } from '../../format/typed.ts'
import type { Alert, AlertBody, AlertChange, AlertKind } from './alert-calls.ts'

export const KINDS = ['budget', 'wallet', 'error_rate', 'latency', 'key_disabled'] as const
export type Kind = (typeof KINDS)[number]
export const OWNERS = ['enterprise', 'department', 'member', 'key'] as const

/** A receiver as it is typed: an address that begins with http is a webhook, another one mail. */
export interface ReceiverDraft {
  /** Of a receiver that exists already; null: it is new. */
  readonly id: string | null
  readonly address: string
}

export interface AlertDraft {
  readonly kind: Kind
  readonly name: string
  readonly threshold: string
  readonly owners: readonly string[]
  readonly min_requests: string
  readonly receivers: readonly ReceiverDraft[]
  readonly isQuiet: boolean
  readonly quietFrom: string
  readonly quietTo: string
}

export const EMPTY_ALERT: AlertDraft = {
  kind: 'budget',
  name: '',
  threshold: '',
  owners: [],
  min_requests: '',
  receivers: [{ id: null, address: '' }],
  isQuiet: false,
  quietFrom: '22:00',
  quietTo: '07:00',
}

/** Kinds of the platform alone are not made here. */
export function kindOf(kind: AlertKind): Kind {
  return KINDS.find((one) => one === kind) ?? 'budget'
}

export function draftOf(alert: Alert): AlertDraft {
  return {
    kind: kindOf(alert.kind),
    name: alert.name ?? '',
    threshold: alert.threshold === null ? '' : String(alert.threshold),
    owners: alert.owners ?? [],
    min_requests: alert.min_requests === null ? '' : String(alert.min_requests),
    receivers: alert.channels.map(({ id, webhook, mail }) => ({ id, address: webhook ?? mail ?? '' })),
    isQuiet: alert.quiet !== null,
    quietFrom: alert.quiet?.from ?? EMPTY_ALERT.quietFrom,
    quietTo: alert.quiet?.to ?? EMPTY_ALERT.quietTo,
  }
}

export type DraftErrors = Partial<
  Record<'threshold' | 'min_requests' | 'receivers' | 'quiet', 'number' | 'none' | 'same'>
>

export function errorsOf(draft: AlertDraft): DraftErrors {
  const errors: DraftErrors = {}
  if (draft.threshold.trim() !== '' && numberOf(draft.threshold) === null) errors.threshold = 'number'
  if (draft.min_requests.trim() !== '' && numberOf(draft.min_requests) === null) errors.min_requests = 'number'
  if (draft.receivers.every(({ address }) => address.trim() === '')) errors.receivers = 'none'
  if (draft.isQuiet && draft.quietFrom === draft.quietTo) errors.quiet = 'same'
  return errors
}

function settingsOf(draft: AlertDraft) {
  const { kind } = draft
  return {
    name: draft.name.trim() === '' ? null : draft.name.trim(),
    threshold: hasThreshold(kind) ? numberOf(draft.threshold) : null,
    owners: kind === 'budget' && draft.owners.length > 0 ? OWNERS.filter((one) => draft.owners.includes(one)) : null,
    min_requests: hasMinimum(kind) ? numberOf(draft.min_requests) : null,
    quiet: draft.isQuiet ? { from: draft.quietFrom, to: draft.quietTo } : null,
    channels: draft.receivers.flatMap(({ id, address }) => {
      const trimmed = address.trim()
      if (trimmed === '') return []
      const to = isWebhook(trimmed) ? { webhook: trimmed } : { mail: trimmed }
      return [id === null ? to : { id, ...to }]
    }),
  }
}

/** Call it without errors. */
export function bodyOf(draft: AlertDraft): AlertBody {
  return { kind: draft.kind, ...settingsOf(draft) }
}

export function changeOf(draft: AlertDraft): AlertChange {
  return settingsOf(draft)
}

export function isWebhook(address: string): boolean {
  return /^https?:/i.test(address.trim())
}

export function hasThreshold(kind: AlertKind): boolean {
  return kind !== 'key_disabled' && kind !== 'upstream_down'
}

export function hasMinimum(kind: AlertKind): boolean {
  return kind === 'error_rate' || kind === 'latency'
}

function numberOf(text: string): number | null {
  const plain = withoutGroups(text)
  const value = Number(plain)
  return plain === null || plain === '' || !Number.isFinite(value) || value < 0 ? null : value
}
