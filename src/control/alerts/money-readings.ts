import { ALERT_KINDS } from '../../shared/api/alert-kinds.ts'
import { budgetName, modelBudgetName } from '../../shared/core/budget.ts'
import { monthAt } from '../../shared/core/month.ts'
import type { WatchedAlert } from '../store/alerts.ts'
import { listBudgets, listPlatformBudgets, listWallets, sumUse } from '../store/alert-readings.ts'
import type { BudgetRow, WalletRow } from '../store/alert-readings.ts'
import type { Queryable } from '../store/database.ts'
import { money, oneLine, percent, round } from './amounts.ts'
import type { Reading } from './crossing.ts'

/** Percentage points. */
const MARGIN = 5

export type ReadingsOf = ReadonlyMap<WatchedAlert, readonly Reading[]>

/** Reads the use of the budgets that alerts watch. Only settled requests count. */
export async function readBudgets(
  queryable: Queryable,
  alerts: readonly WatchedAlert[],
  { currency, nowMs }: { readonly currency: string; readonly nowMs: number },
): Promise<ReadingsOf> {
  const ids = alerts.flatMap(({ enterpriseId }) => (enterpriseId === null ? [] : [enterpriseId]))
  const rows = ids.length === 0 ? [] : await listBudgets(queryable, [...new Set(ids)])
  const ofPlatform = ids.length === alerts.length ? [] : await listPlatformBudgets(queryable)
  const named = (row: BudgetRow) => ({ row, month: monthAt(row.timeZone, nowMs).name })
  const budgets = new Map([...rows, ...ofPlatform].map((row) => [row, named(row)]))
  const names = [...budgets.values()].map(({ row, month }) => nameOf(row, month))
  const used = names.length === 0 ? new Map<string, never>() : await sumUse(queryable, [...new Set(names)])
  return new Map(
    alerts.map((alert) => {
      const watched =
        alert.enterpriseId === null
          ? ofPlatform
          : rows.filter(
              ({ enterpriseId, owner }) =>
                enterpriseId === alert.enterpriseId && (alert.owners === null || alert.owners.includes(owner)),
            )
      const readings = watched.flatMap((row) => {
        const { month } = named(row)
        const use = used.get(nameOf(row, month)) ?? { money: 0, tokens: 0 }
        return budgetReadings(alert, row, { month, use, currency })
      })
      return [alert, readings] as const
    }),
  )
}

function budgetReadings(
  alert: WatchedAlert,
  row: BudgetRow,
  { month, use, currency }: { month: string; use: { money: number; tokens: number }; currency: string },
): Reading[] {
  const { owner, id, models } = row
  const name = oneLine(row.name)
  const what = models === null ? month : `${month}, for ${oneLine(models.join(', '))}`
  const reading = (measure: 'money' | 'tokens', limit: number | null): Reading[] => {
    if (limit === null || limit <= 0) return []
    const value = (use[measure] / limit) * 100
    const shown = (amount: number): string => (measure === 'money' ? money(amount, currency) : `${amount} tokens`)
    const say = (): string =>
      `The ${owner} ${name} (${id}) has used ${percent(value)} of its budget for ${what}: ${shown(use[measure])} of ${shown(limit)}.`
    return [
      {
        ...usedShare(alert, value),
        subject: `${measure}:${nameOf(row, month)}`,
        details: { type: owner, id, name, say, shownValue: round(value, 1) },
      },
    ]
  }
  return [...reading('money', row.money), ...reading('tokens', row.tokens)]
}

function nameOf({ owner, id, models }: BudgetRow, month: string): string {
  return models === null ? budgetName(owner, id, month) : modelBudgetName(models, owner, id, month)
}

/** Reads the use of prepaid wallets, as a share of their balance after the last credit. */
export async function readWallets(
  queryable: Queryable,
  alerts: readonly WatchedAlert[],
  currency: string,
): Promise<ReadingsOf> {
  const ids = alerts.map(({ enterpriseId }) => enterpriseId)
  const rows = await listWallets(queryable, ids.includes(null) ? null : ids.filter((id) => id !== null))
  return new Map(
    alerts.map((alert) => {
      const watched = rows.filter(
        ({ enterpriseId }) => alert.enterpriseId === null || enterpriseId === alert.enterpriseId,
      )
      return [alert, watched.map((row) => walletReading(alert, row, currency))] as const
    }),
  )
}

function walletReading(alert: WatchedAlert, row: WalletRow, currency: string): Reading {
  const { enterpriseId: id, credited, charged, chargedBefore } = row
  const name = oneLine(row.name)
  const balance = credited - charged
  const held = credited - chargedBefore
  const value = held > 0 ? ((held - balance) / held) * 100 : 100
  const say = (): string =>
    `The wallet of ${name} (${id}) is used up to ${percent(value)}: ${money(balance, currency)} are left of the ${money(Math.max(0, held), currency)} that it held after the last credit.`
  return {
    ...usedShare(alert, value),
    subject: `wallet:${id}`,
    details: { type: 'wallet', id, name, say, shownValue: round(value, 1) },
  }
}

function usedShare({ kind, threshold }: WatchedAlert, value: number): Omit<Reading, 'subject' | 'details'> {
  return {
    value,
    thresholds: threshold === null ? ALERT_KINDS[kind].levels : [threshold],
    marginOf: (level) => Math.min(MARGIN, level / 2),
    holdMs: 0,
  }
}
