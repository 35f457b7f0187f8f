import type { DayPart } from './daily-rollups.ts'
import { addToDays } from './daily-rollups.ts'
import type { PreparedStatement, Queryable } from './database.ts'
import type { KeyPart } from './key-rollups.ts'
import { addToKeyDays, CALLER_COLUMNS } from './key-rollups.ts'
import { EnterpriseRollups } from './enterprise-rollups.ts'
import { inLockOrder } from './lock-order.ts'
import { RelayRollups } from './relay-rollups.ts'
import type { RequestLogRow } from './request-log.ts'
import { hourPartAt } from './rollup-hours.ts'
import type { HourPart } from './rollup-hours.ts'
import { negate, noSums, SUM_COLUMNS } from './rollup-sums.ts'
import type { Sums } from './rollup-sums.ts'

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
  readonly part: HourPart
  /** In the order of TEXT_COLUMNS. */
  readonly texts: readonly string[]
  readonly status: number
  readonly sums: Sums
  /** The time of its last row. */
  lastMs: number
}

const TEXT_COLUMNS = [...CALLER_COLUMNS, 'model', 'endpoint'] as const
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

/** Sums rows by hour and the grouped columns, by day, by enterprise, by key and by upstream. */
export class Rollups {
  /** Rollups by key and model: each pair has only a few. */
  readonly #rollups = new Map<string, Map<string, Rollup[]>>()
  readonly #enterprises = new EnterpriseRollups()
  readonly #relay = new RelayRollups()
  /** Most rows come in the order of their times. */
  #part: HourPart = { startMs: 0, endMs: 0 }

  add(row: RollupRow): void {
    const { atMs } = row
    if (atMs < this.#part.startMs || atMs >= this.#part.endMs) this.#part = hourPartAt(atMs)
    const model = groupedModel(row)
    const among = this.#of(row.keyId ?? '', model)
    const rollup = among.find((one) => isOf(one, row)) ?? begun(among, row, this.#part)
    addRow(rollup.sums, row)
    const ofEnterprise = this.#enterprises.sumsOf({
      enterpriseId: row.enterpriseId ?? '',
      hourMs: this.#part.startMs,
      model,
      endpoint: row.endpoint,
      status: row.status ?? 0,
      providerId: row.providerId ?? '',
      upstreamKeyId: row.upstreamKeyId ?? '',
    })
    addRow(ofEnterprise, row)
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

  /**
   * Takes the rows away that were added: they are removed from the log. They must be of requests that reached no upstream. Call it once,
   * and nothing after it.
   */
  async takeFrom(queryable: Queryable): Promise<void> {
    for (const { sums } of [...this.#rollups.values()].flatMap((models) => [...models.values()].flat())) negate(sums)
    this.#enterprises.negate()
    await this.#addSums(queryable)
  }

  async addTo(queryable: Queryable): Promise<void> {
    if (this.#rollups.size === 0) return
    await this.#addSums(queryable)
    await this.#relay.addTo(queryable)
  }

  async #addSums(queryable: Queryable): Promise<void> {
    const rollups = inLockOrder(
      [...this.#rollups.values()].flatMap((models) => [...models.values()].flat()).map((one) => [nameOf(one), one]),
    )
    await queryable.query(ADD, [
      rollups.map(({ part }) => part.startMs),
      ...TEXT_COLUMNS.map((_, index) => rollups.map(({ texts }) => texts[index])),
      rollups.map(({ status }) => status),
      ...SUM_COLUMNS.map((column) => rollups.map(({ sums }) => sums[column])),
    ])
    await addToDays(queryable, rollups.map(dayPart))
    await this.#enterprises.addTo(queryable)
    await addToKeyDays(queryable, rollups.map(keyPart))
  }
}

function dayPart({ part, texts, status, sums }: Rollup): DayPart {
  const [, , enterpriseId = '', , , model = '', endpoint = ''] = texts
  return { hourMs: part.startMs, enterpriseId, model, endpoint, status, sums }
}

function keyPart({ part, texts, status, sums, lastMs }: Rollup): KeyPart {
  return { callers: texts.slice(0, CALLER_COLUMNS.length), hourMs: part.startMs, lastMs, status, sums }
}

function isOf({ part, texts, status }: Rollup, row: RollupRow): boolean {
  const [, userId, enterpriseId, departmentId, memberId, , endpoint] = texts
  return (
    row.atMs >= part.startMs &&
    row.atMs < part.endMs &&
    status === (row.status ?? 0) &&
    endpoint === row.endpoint &&
    userId === (row.userId ?? '') &&
    enterpriseId === (row.enterpriseId ?? '') &&
    departmentId === (row.departmentId ?? '') &&
    memberId === (row.memberId ?? '')
  )
}

function begun(among: Rollup[], row: RollupRow, part: HourPart): Rollup {
  const owners = [row.keyId, row.userId, row.enterpriseId, row.departmentId, row.memberId].map((id) => id ?? '')
  const texts = [...owners, groupedModel(row), row.endpoint]
  const rollup: Rollup = { part, texts, status: row.status ?? 0, sums: noSums(), lastMs: row.atMs }
  among.push(rollup)
  return rollup
}

function nameOf({ part, texts, status }: Rollup): string {
  return [part.startMs, ...texts, status].join('\0')
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
