import { ALERT_KINDS } from '../../shared/api/alert-kinds.ts'
import type { WatchedAlert } from '../store/alerts.ts'
import { listDisabledKeys } from '../store/alert-readings.ts'
import type { Queryable } from '../store/database.ts'
import { oneLine, percent, round } from './amounts.ts'
import type { Reading } from './crossing.ts'
import type { UsageSums } from './usage-windows.ts'

const MIN_REQUESTS = 20
/** Of a bound: the value must fall below four fifths of it. */
const MARGIN = 0.2

/** The error rate of the last five minutes. With too few requests nothing is known. */
export function readErrorRate(alert: WatchedAlert, sums: UsageSums | null): Reading {
  const value = hasEnough(alert, sums) ? (sums.errors / sums.requests) * 100 : null
  const say = (level: number): string =>
    `${percent(value ?? 0)} of ${sums?.requests ?? 0} requests of the last five minutes failed; the bound is ${percent(level)}.`
  return { ...bounded(alert, value), details: { ...whole(alert), say, shownValue: shown(value) } }
}

/** The mean time to the first byte of the last five minutes. */
export function readLatency(alert: WatchedAlert, sums: UsageSums | null): Reading {
  const hasTimes = hasEnough(alert, sums) && sums.ttftCount > 0
  const value = hasTimes ? sums.ttftUs / sums.ttftCount / 1000 : null
  const say = (level: number): string =>
    `The first byte of an answer took ${Math.round(value ?? 0)} ms in the mean of the last five minutes; the bound is ${level} ms.`
  return { ...bounded(alert, value), details: { ...whole(alert), say, shownValue: shown(value) } }
}

/** Entry keys of an enterprise that are turned off, or have expired. */
export async function readEntryKeys(queryable: Queryable, enterpriseId: string, nowMs: number): Promise<Reading[]> {
  const rows = await listDisabledKeys(queryable, enterpriseId, new Date(nowMs))
  return rows.map(({ id, name: given, reason }) => {
    const name = oneLine(given)
    const what = reason === 'disabled' ? 'is turned off' : 'has expired'
    return {
      subject: `key:${id}`,
      value: 1,
      thresholds: [1],
      marginOf: () => 0,
      holdMs: 0,
      details: { type: 'key', id, name, say: () => `The key ${name} (${id}) ${what}.`, shownValue: null },
    }
  })
}

function hasEnough({ minRequests }: WatchedAlert, sums: UsageSums | null): sums is UsageSums {
  return sums !== null && sums.requests >= Math.max(1, minRequests ?? MIN_REQUESTS)
}

function bounded({ kind, threshold }: WatchedAlert, value: number | null): Omit<Reading, 'details'> {
  return {
    subject: kind,
    value,
    thresholds: threshold === null ? ALERT_KINDS[kind].levels : [threshold],
    marginOf: (level) => level * MARGIN,
    holdMs: 0,
  }
}

function whole({ enterpriseId }: WatchedAlert): { type: string; id: string; name: string } {
  return enterpriseId === null
    ? { type: 'platform', id: '', name: 'all requests' }
    : { type: 'enterprise', id: enterpriseId, name: '' }
}

function shown(value: number | null): number | null {
  return value === null ? null : round(value, 1)
}
