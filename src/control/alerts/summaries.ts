import { randomUUID } from 'node:crypto'
import { startOfDay, zonedTime } from '../../shared/core/zoned-time.ts'
import { claimPeriod, listActiveSummaries } from '../store/alert-summaries.ts'
import type { ActiveSummary } from '../store/alert-summaries.ts'
import { insertDelivery } from '../store/alert-deliveries.ts'
import type { Database } from '../store/database.ts'
import { usageByGroup } from '../store/usage-stats.ts'
import type { TimeRange, UsageSums } from '../store/usage-stats.ts'
import { money, oneLine, percent } from './amounts.ts'
import type { StoredLetter } from './messages.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const TRIED_MS = DAY_MS
/** The time of day of summaries, in the zone of the enterprise. */
const SENT_AT_MINUTE = 8 * 60
const MONDAY = 1
const DAYS_OF_WEEK = 7
const TOP = 5
/** More than there are models in use, or statuses. */
const MOST_GROUPS = 1_000

type GroupSums = UsageSums & { readonly group: string }

/** The period that a summary describes. */
export interface Period {
  /** The day on which it is sent. */
  readonly name: string
  /** Full hours: rollups have no parts of hours, also where a zone begins its days within one. */
  readonly range: TimeRange
  /** As people read it. */
  readonly title: string
}

/** The latest period whose summary is due. */
export function duePeriod(frequency: 'daily' | 'weekly', timeZone: string, nowMs: number): Period {
  // At eight in the morning the day before is settled everywhere.
  let dayMs = startOfDay(timeZone, nowMs)
  if (zonedTime(timeZone, nowMs).minute < SENT_AT_MINUTE) dayMs = dayBefore(timeZone, dayMs)
  if (frequency === 'daily') {
    const fromMs = dayBefore(timeZone, dayMs)
    const { date } = zonedTime(timeZone, fromMs)
    return { name: zonedTime(timeZone, dayMs).date, range: hours(fromMs, dayMs), title: date }
  }
  while (zonedTime(timeZone, dayMs).weekday !== MONDAY) dayMs = dayBefore(timeZone, dayMs)
  let fromMs = dayMs
  for (let day = 0; day < DAYS_OF_WEEK; day++) fromMs = dayBefore(timeZone, fromMs)
  const lastDay = zonedTime(timeZone, dayBefore(timeZone, dayMs)).date
  const title = `${zonedTime(timeZone, fromMs).date} to ${lastDay}`
  return { name: zonedTime(timeZone, dayMs).date, range: hours(fromMs, dayMs), title }
}

function dayBefore(timeZone: string, startMs: number): number {
  return startOfDay(timeZone, startMs - 1)
}

function hours(fromMs: number, toMs: number): TimeRange {
  const floor = (ms: number): number => Math.floor(ms / HOUR_MS) * HOUR_MS
  return { fromMs: floor(fromMs), toMs: floor(toMs) }
}

/** Queues the summaries that are due, each once, for every recipient. Returns how many settings there are. */
export async function queueSummaries(database: Database, nowMs: number): Promise<number> {
  const summaries = await listActiveSummaries(database)
  for (const summary of summaries) {
    const { frequency, timeZone, lastPeriod } = summary
    if (frequency === 'off') continue
    const period = duePeriod(frequency, timeZone, nowMs)
    if (lastPeriod === period.name) continue
    // A setting that is new begins with the next period.
    const letter = lastPeriod === null ? null : await composed(database, summary, period)
    await database.transaction(async (tx) => {
      if (!(await claimPeriod(tx, summary, period.name)) || letter === null) return
      const eventId = `evt_${randomUUID()}`
      for (const address of summary.recipients) {
        await insertDelivery(tx, {
          id: `del_${randomUUID()}`,
          eventId,
          enterpriseId: summary.enterpriseId,
          alertId: null,
          channelId: null,
          kind: 'summary',
          subject: `${frequency} summary`,
          message: `The ${frequency} summary of ${period.title}.`,
          type: 'mail',
          address,
          body: JSON.stringify(letter),
          status: 'pending',
          nextAt: new Date(nowMs),
          expiresAt: new Date(nowMs + TRIED_MS),
          error: null,
          createdAt: new Date(nowMs),
        })
      }
    })
  }
  return summaries.length
}

async function composed(database: Database, summary: ActiveSummary, { range, title }: Period): Promise<StoredLetter> {
  const { enterpriseId, enterpriseName, currency, frequency, timeZone } = summary
  const read = (group: 'model' | 'status'): Promise<GroupSums[]> => {
    const scope = { kind: 'enterprise', enterpriseId } as const
    return usageByGroup(database, { scope, filter: {}, range, group, most: MOST_GROUPS })
  }
  const byModel = await read('model')
  const byStatus = await read('status')
  const all = {
    requests: total(byStatus, 'requests'),
    errors: total(byStatus, 'errors'),
    cost: total(byStatus, 'costMicro'),
  }
  const models = byModel
    .filter(({ group }) => group !== '')
    .sort((a, b) => b.costMicro - a.costMicro || b.requests - a.requests)
  const errors = byStatus.filter(({ errors: count }) => count > 0).sort((a, b) => b.errors - a.errors)
  const rate = all.requests === 0 ? 0 : (all.errors / all.requests) * 100
  const list = (title: string, lines: readonly string[]): string[] =>
    lines.length === 0 ? [] : ['', title, ...lines.map((line) => `  ${line}`)]
  return {
    subject: `Sluice ${frequency} summary, ${title}`,
    text: [
      `${oneLine(enterpriseName)}: ${title} (${timeZone})`,
      '',
      `Requests: ${all.requests}`,
      `Spend: ${money(all.cost, currency)}`,
      `Errors: ${all.errors} (${percent(rate)})`,
      ...list(
        'Top models:',
        models
          .slice(0, TOP)
          .map(
            ({ group, requests, costMicro }) =>
              `${oneLine(group)}: ${requests} requests, ${money(costMicro, currency)}`,
          ),
      ),
      ...list(
        'Errors by status:',
        errors.slice(0, TOP).map(({ group, errors: count }) => `${group === '0' ? 'interrupted' : group}: ${count}`),
      ),
      '',
    ].join('\n'),
  }
}

function total(groups: readonly GroupSums[], of: 'requests' | 'errors' | 'costMicro'): number {
  return groups.reduce((sum, group) => sum + group[of], 0)
}
