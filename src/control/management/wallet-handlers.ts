import { createHash } from 'node:crypto'
import type { Static } from 'typebox'
import { MAX_STATEMENT_MOVEMENTS } from '../../shared/api/operations/wallet.ts'
import type { Wallet as ShownWallet, WALLET } from '../../shared/api/operations/wallet.ts'
import type { MoneyConfig } from '../../shared/config/shape.ts'
import { isSignedWebhook } from '../../shared/core/standard-webhooks.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import { readStatement } from '../ledger/statement.ts'
import { countWalletTransactions, findWallet, listWalletTransactions, moveWallet } from '../ledger/wallet.ts'
import type { Movement, Wallet, WalletTransaction } from '../ledger/wallet.ts'
import type { Database } from '../store/database.ts'
import { findEnterprise } from '../store/enterprises.ts'
import { DAY_MS } from '../store/partitions.ts'
import { lockResource } from '../store/resource-lock.ts'
import type { Audited } from './audit-changes.ts'
import { startsOf } from './calendar.ts'
import type { Handlers } from './call.ts'
import { orNotFound } from './or-not-found.ts'
import { longPageOf } from './pages.ts'

/** The money of an enterprise. */
export function walletHandlers(
  database: Database,
  { tenantTopup, paymentSecret }: MoneyConfig,
): Handlers<keyof typeof WALLET> {
  const rendered = ({ balanceMicro, creditedMicro, chargedMicro, currency, isPrepaid }: Wallet) => ({
    balance: Number(balanceMicro),
    credited: Number(creditedMicro),
    charged: Number(chargedMicro),
    currency,
    is_prepaid: isPrepaid,
    tenant_topup: tenantTopup,
    spend: null,
  })
  const move = async (movement: Omit<Movement, 'id'>): Promise<Static<typeof ShownWallet>> => {
    const { enterpriseId, kind, reference } = movement
    // Clients choose references, so one is unique only within an enterprise and a kind.
    const digest = createHash('sha256')
      .update(JSON.stringify([enterpriseId, kind, reference]))
      .digest('hex')
    const result = await moveWallet(database, { id: `${kind}_${digest.slice(0, 40)}`, ...movement })
    switch (result.outcome) {
      case 'done':
      case 'repeated':
        return rendered(result.wallet)
      case 'insufficient':
        throw new GatewayError('CONFLICT', { message: 'There is less than that in the wallet.', param: '/amount' })
      case 'too-much':
        throw new GatewayError('CONFLICT', {
          message: `A wallet takes ${Number.MAX_SAFE_INTEGER} micro-units in all.`,
          param: '/amount',
        })
      case 'conflict':
        throw new GatewayError('CONFLICT', {
          message: 'This reference belongs to another movement.',
          param: '/reference',
        })
      case 'unknown-enterprise':
        throw new GatewayError('NOT_FOUND')
    }
  }
  const credit = async (
    enterpriseId: string,
    { amount, currency, reference }: { readonly amount: number; readonly currency: string; readonly reference: string },
    actor: string | null,
  ): Promise<Static<typeof ShownWallet>> => {
    const wallet = orNotFound(await findWallet(database, enterpriseId))
    if (currency !== wallet.currency) {
      throw new GatewayError('INVALID_FIELD', {
        message: `The wallet is kept in ${wallet.currency}.`,
        param: '/currency',
      })
    }
    return move({ enterpriseId, kind: 'topup', amountMicro: BigInt(amount), reference, actor })
  }
  /** For paths that have no GET of the wallet. */
  const audited = async (
    enterpriseId: string,
    audit: (changed: Audited) => void,
    change: () => Promise<Static<typeof ShownWallet>>,
  ): Promise<Static<typeof ShownWallet>> => {
    await lockResource(database, '', enterpriseId)
    const found = await findWallet(database, enterpriseId)
    const after = await change()
    audit({ before: found === null ? null : rendered(found), after, enterpriseId })
    return after
  }
  return {
    getWallet: async ({ params }) => rendered(orNotFound(await findWallet(database, params.id))),

    topUpWallet: async ({ params, body, caller }) => {
      if (!tenantTopup && caller.role !== 'admin') {
        throw new GatewayError('ROLE_DENIED', {
          message: 'Only the platform credits wallets here: ask its admin, who may also set wallet.tenant_topup.',
        })
      }
      return credit(params.id, body, caller.userId)
    },

    receivePayment: async ({ body, message, audit }) => {
      if (paymentSecret === null) throw new GatewayError('ROUTE_NOT_FOUND')
      if (!isSignedWebhook(paymentSecret, message.headers, message.body.toString('utf8'), Date.now())) {
        throw new GatewayError('SIGNATURE_INVALID')
      }
      const { enterprise_id: enterpriseId } = body
      return audited(enterpriseId, audit, () => credit(enterpriseId, body, null))
    },

    listTransactions: ({ params, query }) =>
      longPageOf(
        query,
        {
          read: (stretch) => listWalletTransactions(database, params.id, stretch),
          count: (most) => countWalletTransactions(database, params.id, most),
          cursorOf,
          placeOf,
        },
        renderedMove,
      ),

    walletStatement: async ({ params, query }) => {
      const { timeZone, currency } = orNotFound(await findEnterprise(database, params.id))
      const month = monthOf(query.month, timeZone)
      const statement = orNotFound(await readStatement(database, params.id, month, MAX_STATEMENT_MOVEMENTS))
      const { sums, lines, closing, omitted } = statement
      const total = sums.topup + sums.refund + sums.adjustment + sums.usage
      let balance = closing
      return {
        from: new Date(month.days[0] ?? month.endMs).toISOString(),
        to: new Date(month.endMs).toISOString(),
        time_zone: timeZone,
        currency,
        opening: closing - total,
        closing,
        credited: sums.topup,
        refunded: sums.refund,
        adjusted: sums.adjustment,
        charged: sums.usage,
        lines: lines.map(({ at, dayMs, ...line }) => {
          const shown = {
            ...line,
            balance,
            time: at.toISOString(),
            day: dayMs === null ? null : new Date(dayMs).toISOString(),
          }
          balance -= line.amount
          return shown
        }),
        omitted,
      }
    },

    adminAdjustWallet: async ({ params, body, caller, audit }) => {
      const { kind, amount, reference } = body
      if (amount === 0 || (kind === 'refund' && amount > 0)) {
        throw new GatewayError('INVALID_FIELD', {
          message: kind === 'refund' ? 'amount must be below 0: a refund takes money out.' : 'amount must not be 0.',
          param: '/amount',
        })
      }
      const movement = { enterpriseId: params.id, kind, amountMicro: BigInt(amount), reference } as const
      return audited(params.id, audit, () => move({ ...movement, actor: caller.userId }))
    },
  }
}

/** The days and the end of a month like `2026-11`; the present one by default. */
function monthOf(month: string | undefined, timeZone: string): { days: number[]; endMs: number } {
  const withinMs = month === undefined ? Date.now() : Date.parse(`${month}-15T00:00:00Z`)
  const [fromMs = withinMs, endMs = withinMs] = startsOf(timeZone, 'month', withinMs, withinMs + 32 * DAY_MS)
  return { days: startsOf(timeZone, 'day', fromMs, endMs), endMs }
}

function renderedMove({ id, kind, amountMicro, reference, actor, at }: WalletTransaction) {
  return { id, kind, amount: Number(amountMicro), reference, actor, time: at.toISOString() }
}

function cursorOf({ id, at }: WalletTransaction): string {
  return Buffer.from(JSON.stringify([at.toISOString(), id])).toString('base64url')
}

function placeOf(cursor: string): { id: string; at: Date } {
  const [at, id] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[]
  if (typeof at === 'string' && typeof id === 'string' && !Number.isNaN(Date.parse(at))) return { at: new Date(at), id }
  throw new RangeError('the cursor is not valid')
}
