import type { ExchangeReply } from './lease-unit.ts'

export type ExchangeAnswer =
  | { readonly status: 'ok'; readonly reply: ExchangeReply }
  /** Redis does not know what it was told before. */
  | { readonly status: 'lost' }
  /** Redis has forgotten the calls of this unit after `last`. */
  | { readonly status: 'gap'; readonly last: number }
  /** A later call of this unit has been booked. */
  | { readonly status: 'stale' }

const CROWDS = ['roomy', 'heard', 'unheard'] as const
const OUTCOMES = ['none', 'granted', 'refused'] as const

/** Reads what the exchange script answered. Throws when it is nothing the script would say. */
export function readExchange(answer: unknown): ExchangeAnswer {
  const text = Array.isArray(answer) ? String(answer[0]) : ''
  const [status, first, ...fields] = text.split(' ')
  if (status === 'epoch') return { status: 'lost' }
  if (status === 'stale') return { status }
  if (status === 'gap') return { status, last: Number(first) }
  const [
    ,
    held,
    used,
    left,
    emptyAtMs,
    outcome,
    amount,
    retryAtMs,
    keep,
    reclaimOver,
    waiting,
    charged,
    unread,
    crowd,
  ] = fields.map(Number)
  if (status !== 'ok' || waiting === undefined) throw new Error('Redis answered something else than a script does')
  return {
    status,
    reply: {
      held: held ?? 0,
      used: used ?? 0,
      left: left ?? 0,
      emptyAtMs: emptyAtMs ?? 0,
      outcome: OUTCOMES[outcome ?? 0] ?? 'none',
      amount: amount ?? 0,
      retryAtMs: retryAtMs ?? 0,
      keep: keep === undefined || keep < 0 ? null : keep,
      reclaimOver: reclaimOver === 1,
      waiting: waiting === 1,
      charged: charged ?? 0,
      isUnread: unread === 1,
      crowd: CROWDS[crowd ?? 0] ?? 'roomy',
    },
  }
}
