import type { PreparedStatement, Queryable } from './database.ts'
import { inLockOrder } from './lock-order.ts'
import { DAY_MS } from './partitions.ts'
import { addSums, noSums, SUM_COLUMNS } from './rollup-sums.ts'
import type { Sums } from './rollup-sums.ts'

/** The columns of the hourly sums that tell whose a request is, in the order of `KeyPart.callers`. */
export const CALLER_COLUMNS = ['key_id', 'user_id', 'enterprise_id', 'department_id', 'member_id'] as const

/** The sums of one key in an hour, or a part of them. */
export interface KeyPart {
  /** In the order of `CALLER_COLUMNS`. */
  readonly callers: readonly string[]
  readonly hourMs: number
  readonly lastMs: number
  readonly status: number
  readonly sums: Readonly<Sums>
}

interface KeyDay {
  readonly callers: readonly string[]
  readonly dayMs: number
  lastMs: number
  errors: number
  readonly sums: Sums
}

const KEY_COLUMNS = ['day', ...CALLER_COLUMNS]
const COLUMNS = [...KEY_COLUMNS, 'last_used_at', 'errors', ...SUM_COLUMNS]
const TYPES = ['float8', ...CALLER_COLUMNS.map(() => 'text'), 'float8', 'int8', ...SUM_COLUMNS.map(() => 'int8')]
const TIMES = ['day', 'last_used_at']

const ADD: PreparedStatement = {
  name: 'rollup-add-keys',
  text: `INSERT INTO key_rollup_daily AS r (${COLUMNS.join(', ')})
    SELECT ${COLUMNS.map((column) => (TIMES.includes(column) ? `to_timestamp(t.${column} / 1000)` : `t.${column}`)).join(', ')}
    FROM unnest(${TYPES.map((type, index) => `$${index + 1}::${type}[]`).join(', ')}) AS t (${COLUMNS.join(', ')})
    ON CONFLICT (${KEY_COLUMNS.join(', ')}) DO UPDATE SET last_used_at = greatest(r.last_used_at, excluded.last_used_at),
      ${['errors', ...SUM_COLUMNS].map((column) => `${column} = r.${column} + excluded.${column}`).join(', ')}`,
}

/** Adds the sums of keys, and of requests without a key, to their days. */
export async function addToKeyDays(queryable: Queryable, parts: readonly KeyPart[]): Promise<void> {
  const days = new Map<string, KeyDay>()
  for (const part of parts) addPart(days, part)
  const sorted = inLockOrder(days)
  await queryable.query(ADD, [
    sorted.map(({ dayMs }) => dayMs),
    ...CALLER_COLUMNS.map((_, index) => sorted.map(({ callers }) => callers[index])),
    sorted.map(({ lastMs }) => lastMs),
    sorted.map(({ errors }) => errors),
    ...SUM_COLUMNS.map((column) => sorted.map(({ sums }) => sums[column])),
  ])
}

function addPart(days: Map<string, KeyDay>, { callers, hourMs, lastMs, status, sums }: KeyPart): void {
  const dayMs = Math.floor(hourMs / DAY_MS) * DAY_MS
  const name = [dayMs, ...callers].join('\0')
  let day = days.get(name)
  if (day === undefined) days.set(name, (day = { callers, dayMs, lastMs, errors: 0, sums: noSums() }))
  day.lastMs = Math.max(day.lastMs, lastMs)
  day.errors += status === 0 || status >= 400 ? sums.requests : 0
  addSums(day.sums, sums)
}
