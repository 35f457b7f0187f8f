import type { PreparedStatement, Queryable } from './database.ts'
import { inLockOrder } from './lock-order.ts'
import { DAY_MS } from './partitions.ts'
import { SUM_COLUMNS, addSums, noSums } from './rollup-sums.ts'
import type { Sums } from './rollup-sums.ts'

/** Stands for all requests in place of an enterprise id, with and without an enterprise. */
export const ALL_ENTERPRISES = '*'

/** Sums of an hour, by the columns that the daily sums have. */
export interface DayPart {
  readonly hourMs: number
  readonly enterpriseId: string
  readonly model: string
  readonly endpoint: string
  readonly status: number
  readonly sums: Sums
}

interface Day {
  readonly key: readonly [enterpriseId: string, dayMs: number, model: string, endpoint: string, status: number]
  readonly sums: Sums
}

const KEY_COLUMNS = ['enterprise_id', 'day', 'model', 'endpoint', 'status']
const KEY_TYPES = ['text', 'float8', 'text', 'text', 'int4']
const COLUMNS = [...KEY_COLUMNS, ...SUM_COLUMNS]
const TYPES = [...KEY_TYPES, ...SUM_COLUMNS.map(() => 'int8')]

const ADD: PreparedStatement = {
  name: 'rollup-add-daily',
  text: `INSERT INTO request_rollup_daily AS r (${COLUMNS.join(', ')})
    SELECT ${COLUMNS.map((column) => (column === 'day' ? 'to_timestamp(t.day / 1000)' : `t.${column}`)).join(', ')}
    FROM unnest(${TYPES.map((type, index) => `$${index + 1}::${type}[]`).join(', ')}) AS t (${COLUMNS.join(', ')})
    ON CONFLICT (${KEY_COLUMNS.join(', ')})
    DO UPDATE SET ${SUM_COLUMNS.map((column) => `${column} = r.${column} + excluded.${column}`).join(', ')}`,
}

/** Adds hours to their days: to the day of the enterprise and to the day of all requests. */
export async function addToDays(queryable: Queryable, parts: readonly DayPart[]): Promise<void> {
  const days = new Map<string, Day>()
  for (const part of parts) {
    addPart(days, ALL_ENTERPRISES, part)
    addPart(days, part.enterpriseId, part)
  }
  const sorted = inLockOrder(days)
  await queryable.query(ADD, [
    ...KEY_COLUMNS.map((_, index) => sorted.map(({ key }) => key[index])),
    ...SUM_COLUMNS.map((column) => sorted.map(({ sums }) => sums[column])),
  ])
}

function addPart(days: Map<string, Day>, enterpriseId: string, part: DayPart): void {
  const dayMs = Math.floor(part.hourMs / DAY_MS) * DAY_MS
  const key = [enterpriseId, dayMs, part.model, part.endpoint, part.status] as const
  const name = key.join('\0')
  let day = days.get(name)
  if (day === undefined) days.set(name, (day = { key, sums: noSums() }))
  addSums(day.sums, part.sums)
}
