import type { DayPart } from './daily-rollups.ts'
import { addToDays } from './daily-rollups.ts'
import type { PreparedStatement, Queryable } from './database.ts'
import type { KeyPart } from './key-rollups.ts'
import { addToKeyDays } from './key-rollups.ts'
import { RelayRollups } from './relay-rollups.ts'
import type { RequestLogRow } from './request-log.ts'
import { SUM_COLUMNS, noSums } from './rollup-sums.ts'
import type { Sums } from './rollup-sums.ts'

const HOUR_MS = 3_600_000

/** The columns of a row that rollups sum or group by. */
export type RollupRow = Pick<
  RequestLogRow,
  | 'atMs'
  | 'keyId'
  | 'userId'
  | 'enterpriseId'
  | 'departmentId'
  | 'memberId'
  | 'model'
  | 'endpoint'
  | 'status'
  | 'providerId'
  | 'upstreamKeyId'
  | 'aborted'
  | 'promptTokens'
  | 'completionTokens'
  | 'cachedTokens'
  | 'cacheWriteTokens'
  | 'reasoningTokens'
  | 'costMicro'
  | 'queueUs'
  | 'ttftUs'
  | 'totalUs'
  | 'overheadUs'
>

interface Rollup {
  readonly key: readonly [hourMs: number, ...texts: string[]]
  readonly status: number
  readonly sums: Sums
  /** The time of its last row. */
  lastMs: number
}

const TEXT_COLUMNS = ['key_id', 'user_id', 'enterprise_id', 'model', 'endpoint'] as const
const COLUMNS = ['hour', ...TEXT_COLUMNS, 'status', ...SUM_COLUMNS]
const TYPES = ['float8', ...TEXT_COLUMNS.map(() => 'text'), 'int4', ...SUM_COLUMNS.map(() => 'int8')]

const ADD: PreparedStatement = {
  name: 'rollup-add',
  text: `INSERT INTO request_rollup_hourly AS r (${COLUMNS.join(', ')})
    SELECT to_timestamp(t.hour / 1000), ${COLUMNS.slice(1)
      .map((column) => `t.${column}`)
      .join(', ')}
    FROM unnest(${TYPES.map((type, index) => `$${index + 1}::${type}[]`).join(', ')}) AS t (${COLUMNS.join(', ')})
    ON CONFLICT (hour, ${TEXT_COLUMNS.join(', ')}, status)
    DO UPDATE SET ${SUM_COLUMNS.map((column) => `${column} = r.${column} + excluded.${column}`).join(', ')}`,
}

/** Sums rows by hour and the grouped columns, by day, by key and by upstream. */
export class Rollups {
  /** Rollups by key and model: each pair has only a few. */
  readonly #rollups = new Map<string, Map<string, Rollup[]>>()
  readonly #relay = new RelayRollups()

  add(row: RollupRow): void {
    const among = this.#of(row.keyId ?? '', groupedModel(row))
    const rollup = among.find((one) => isOf(one, row)) ?? begun(among, row)
    addRow(rollup.sums, row)
    rollup.lastMs = Math.max(rollup.lastMs, row.atMs)
    this.#relay.add(row)
  }

  #of(keyId: string, model: string): Rollup[] {
    let models = this.#rollups.get(keyId)
    if (models === undefined) this.#rollups.set(keyId, (models = new Map<string, Rollup[]>()))
    let among = models.get(model)
    if (among === undefined) models.set(model, (among = []))
    return among
  }

  async addTo(queryable: Queryable): Promise<void> {
    if (this.#rollups.size === 0) return
    // Sorted, so that nodes that add to the same hours lock their rows in the same order and never deadlock.
    const rollups = [...this.#rollups.values()].flatMap((models) => [...models.values()].flat())
    rollups.sort((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1))
    await queryable.query(ADD, [
      rollups.map(({ key }) => key[0]),
      ...TEXT_COLUMNS.map((_, index) => rollups.map(({ key }) => key[index + 1])),
      rollups.map(({ status }) => status),
      ...SUM_COLUMNS.map((column) => rollups.map(({ sums }) => sums[column])),
    ])
    await addToDays(queryable, rollups.map(dayPart))
    await addToKeyDays(queryable, rollups.map(keyPart))
    await this.#relay.addTo(queryable)
  }
}

function dayPart({ key, status, sums }: Rollup): DayPart {
  const [hourMs, , , enterpriseId = '', model = '', endpoint = ''] = key
  return { hourMs, enterpriseId, model, endpoint, status, sums }
}

function keyPart({ key, status, sums, lastMs }: Rollup): KeyPart {
  const [hourMs, keyId = ''] = key
  return { keyId, hourMs, lastMs, status, sums }
}

function isOf({ key, status }: Rollup, row: RollupRow): boolean {
  const [hourMs, , userId, enterpriseId, , endpoint] = key
  return (
    row.atMs >= hourMs &&
    row.atMs < hourMs + HOUR_MS &&
    status === (row.status ?? 0) &&
    endpoint === row.endpoint &&
    userId === (row.userId ?? '') &&
    enterpriseId === (row.enterpriseId ?? '')
  )
}

function begun(among: Rollup[], row: RollupRow): Rollup {
  const hourMs = Math.floor(row.atMs / HOUR_MS) * HOUR_MS
  const texts = [row.keyId ?? '', row.userId ?? '', row.enterpriseId ?? '', groupedModel(row), row.endpoint]
  const rollup: Rollup = { key: [hourMs, ...texts], status: row.status ?? 0, sums: noSums(), lastMs: row.atMs }
  among.push(rollup)
  return rollup
}

function orderOf({ key, status }: Rollup): string {
  return [...key, status].join('\0')
}

/**
 * The client chooses the model name of a request that is refused before any upstream. Grouped by this name, one client could grow
 * the rollups without bound.
 */
function groupedModel(row: RollupRow): string {
  const isKnown = row.providerId !== null || row.status === null || row.status >= 500
  return isKnown ? (row.model ?? '') : ''
}

function addRow(sums: Sums, row: RollupRow): void {
  sums.requests += 1
  sums.aborted += row.aborted ? 1 : 0
  sums.prompt_tokens += row.promptTokens
  sums.completion_tokens += row.completionTokens
  sums.cached_tokens += row.cachedTokens
  sums.cache_write_tokens += row.cacheWriteTokens
  sums.reasoning_tokens += row.reasoningTokens
  sums.cost_micro += row.costMicro
  sums.queue_us += row.queueUs
  sums.ttft_us += row.ttftUs ?? 0
  sums.ttft_count += row.ttftUs === null ? 0 : 1
  sums.total_us += row.totalUs
  sums.overhead_us += row.overheadUs
}
