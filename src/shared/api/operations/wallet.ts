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
  spend: ShownSpend,
})

const Payment = {
  amount: Type.Integer({ description: 'Micro-units.', minimum: 1, maximum: 1_000_000_000_000_000 }),
  currency: Type.String({ pattern: '^[A-Z]{3}$', examples: ['USD'] }),
  reference: Type.String({ description: 'Of the payment. The same one credits once.', minLength: 1, maxLength: 200 }),
}

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
      'Credit the wallet; the same reference, or Idempotency-Key, does so once. Tenants may where wallet.tenant_topup is on',
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
