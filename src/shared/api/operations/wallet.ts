import { Type } from 'typebox'
import { nullable } from '../nullable.ts'
import { ShownSpend } from '../spend.ts'
import { Id, longListOf, LongPageQuery, ok, operation, Time } from '../operation.ts'

const Micro = Type.Integer({ description: 'Micro-units of the currency.' })

export const Wallet = Type.Object({
  balance: Micro,
  credited: Type.Integer({ description: 'All payments in, without those paid back; micro-units.' }),
  charged: Type.Integer({ description: 'The cost of all requests; micro-units.' }),
  currency: Type.String({ description: 'ISO 4217.' }),
  is_prepaid: Type.Boolean(),
  tenant_topup: Type.Boolean({
    description: 'Whether the owner and finance may credit it (`wallet.tenant_topup`), or only the platform.',
  }),
  spend: ShownSpend,
})

const Payment = {
  amount: Type.Integer({ description: 'Micro-units.', minimum: 1, maximum: 1_000_000_000_000_000 }),
  currency: Type.String({ pattern: '^[A-Z]{3}$', examples: ['USD'] }),
  reference: Type.String({ description: 'Of the payment. The same one credits once.', minLength: 1, maxLength: 200 }),
}

/** Single movements of a statement; its days of usage are at most 31. */
export const MAX_STATEMENT_MOVEMENTS = 1_000

const StatementLine = Type.Object({
  id: nullable(Type.String({ description: 'Of the movement; null: the requests of a day.' })),
  kind: Type.Enum(['topup', 'refund', 'adjustment', 'usage']),
  amount: Type.Integer({ description: 'Micro-units into the wallet; below 0 out of it.' }),
  balance: Type.Integer({ description: 'Of the wallet after this line; micro-units.' }),
  reference: nullable(Type.String()),
  actor: nullable(Type.String({ description: 'The user who did it.' })),
  time: { ...Time, description: 'ISO 8601, UTC. Of a day of usage, its last charge.' },
  day: nullable({ ...Time, description: 'When the day of usage began, in the time zone of the statement; else null.' }),
})

export const Statement = Type.Object({
  from: Time,
  to: Time,
  time_zone: Type.String({ description: 'IANA name: that of the enterprise.' }),
  currency: Type.String({ description: 'ISO 4217.' }),
  opening: Micro,
  closing: Micro,
  credited: Type.Integer({ description: 'Top-ups; micro-units.' }),
  refunded: Type.Integer({ description: 'Paid back; micro-units, not above 0.' }),
  adjusted: Type.Integer({ description: 'Corrections; micro-units.' }),
  charged: Type.Integer({ description: 'The cost of requests; micro-units, not above 0.' }),
  lines: Type.Array(StatementLine, { description: 'The newest first. Usage is one line a day.' }),
  omitted: Type.Integer({
    description: `Older movements that are not among the lines, which show the newest ${MAX_STATEMENT_MOVEMENTS}.`,
    minimum: 0,
  }),
})

export const WALLET = {
  getWallet: operation({
    method: 'GET',
    path: '/v1/enterprise/{id}/wallet',
    tag: 'Wallet',
    summary: 'The wallet',
    access: 'wallet.read',
    answer: ok(Wallet),
  }),
  topUpWallet: operation({
    method: 'POST',
    path: '/v1/enterprise/{id}/wallet/topup',
    tag: 'Wallet',
    summary:
      'Credit the wallet; the same reference does so once, under any Idempotency-Key. Tenants may where wallet.tenant_topup is on',
    access: 'wallet.topup',
    body: Type.Object(Payment),
    answer: ok(Wallet),
  }),
  receivePayment: operation({
    method: 'POST',
    path: '/api/payments',
    tag: 'Wallet',
    summary: 'Credit a wallet as a payment service: signed with wallet.payment_secret as Standard Webhooks are',
    access: 'everyone',
    body: Type.Object({ enterprise_id: Id, ...Payment }),
    answer: ok(Wallet),
  }),
  listTransactions: operation({
    method: 'GET',
    path: '/v1/enterprise/{id}/wallet/transactions',
    tag: 'Wallet',
    summary: 'Movements of money, newest first',
    access: 'wallet.read',
    query: Type.Object(LongPageQuery),
    answer: ok(
      longListOf(
        Type.Object({
          id: Id,
          kind: Type.Enum(['topup', 'refund', 'adjustment', 'usage']),
          amount: Type.Integer({ description: 'Micro-units into the wallet; below 0 out of it.' }),
          reference: nullable(Type.String()),
          actor: nullable(Type.String({ description: 'The user who did it.' })),
          time: Time,
        }),
      ),
    ),
  }),
  walletStatement: operation({
    method: 'GET',
    path: '/v1/enterprise/{id}/wallet/statement',
    tag: 'Wallet',
    summary: 'The movements of a month with the balance after each, in the time zone of the enterprise',
    access: 'wallet.read',
    query: Type.Object({
      month: Type.Optional(
        Type.String({
          description: 'The present one by default.',
          pattern: '^20[0-9]{2}-(0[1-9]|1[0-2])$',
          examples: ['2026-11'],
        }),
      ),
    }),
    answer: ok(Statement),
  }),
  adminAdjustWallet: operation({
    method: 'POST',
    path: '/v1/admin/enterprises/{id}/wallet/adjustments',
    tag: 'Platform',
    summary: 'Pay money back, or correct the balance',
    access: 'platform-admin',
    body: Type.Object({
      kind: Type.Enum(['refund', 'adjustment']),
      amount: Type.Integer({
        description: 'Micro-units into the wallet; below 0 out of it. Every refund is below 0.',
        minimum: -1_000_000_000_000_000,
        maximum: 1_000_000_000_000_000,
      }),
      reference: Type.String({
        description: 'The reason. A repetition with the same reference changes nothing.',
        minLength: 1,
        maxLength: 200,
      }),
    }),
    answer: ok(Wallet),
  }),
} as const
