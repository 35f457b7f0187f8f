import type { PreparedStatement, Queryable } from './database.ts'
import { BUCKETS, bucketOf } from './latency-buckets.ts'
import { inLockOrder } from './lock-order.ts'
import type { RequestLogRow } from './request-log.ts'

const HOUR_MS = 3_600_000

/** The columns of a row for the statistics of upstreams and of the gateway. */
export type RelayRow = Pick<
  RequestLogRow,
  | 'atMs'
  | 'status'
  | 'providerId'
  | 'upstreamKeyId'
  | 'aborted'
  | 'promptTokens'
  | 'completionTokens'
  | 'cachedTokens'
  | 'costMicro'
  | 'ttftUs'
  | 'totalUs'
  | 'overheadUs'
>

const UPSTREAM_SUMS = [
  'requests',
  'errors',
  'aborted',
  'prompt_tokens',
  'completion_tokens',
  'cached_tokens',
  'cost_micro',
  'ttft_us',
  'ttft_count',
  'total_us',
] as const
const UPSTREAM_COLUMNS = ['hour', 'provider_id', 'upstream_key_id', ...UPSTREAM_SUMS]
const UPSTREAM_TYPES = ['float8', 'text', 'text', ...UPSTREAM_SUMS.map(() => 'int8')]

const ADD_UPSTREAMS: PreparedStatement = {
  name: 'rollup-add-upstreams',
  text: `INSERT INTO upstream_rollup_hourly AS r (${UPSTREAM_COLUMNS.join(', ')})
    SELECT to_timestamp(t.hour / 1000), ${UPSTREAM_COLUMNS.slice(1)
      .map((column) => `t.${column}`)
      .join(', ')}
    FROM unnest(${UPSTREAM_TYPES.map((type, index) => `$${index + 1}::${type}[]`).join(', ')})
      AS t (${UPSTREAM_COLUMNS.join(', ')})
    ON CONFLICT (hour, provider_id, upstream_key_id)
    DO UPDATE SET ${UPSTREAM_SUMS.map((column) => `${column} = r.${column} + excluded.${column}`).join(', ')}`,
}

const ADD_TIMINGS: PreparedStatement = {
  name: 'rollup-add-timings',
  text: `INSERT INTO timing_rollup_hourly AS r (hour, measure, bucket, requests)
    SELECT to_timestamp(t.hour / 1000), t.measure, t.bucket, t.requests
    FROM unnest($1::float8[], $2::text[], $3::int2[], $4::int8[]) AS t (hour, measure, bucket, requests)
    ON CONFLICT (hour, measure, bucket) DO UPDATE SET requests = r.requests + excluded.requests`,
}

interface UpstreamHour {
  readonly hourMs: number
  readonly providerId: string
  readonly upstreamKeyId: string
  readonly sums: Record<(typeof UPSTREAM_SUMS)[number], number>
}

/** Sorted by name: rows are locked in this order. */
const MEASURES = ['overhead', 'total', 'ttft'] as const
export type Measure = (typeof MEASURES)[number]

type TimingHour = Readonly<Record<Measure, Float64Array>>

/** Hourly sums of upstream keys, and of the durations of requests that reached an upstream. */
export class RelayRollups {
  readonly #upstreams = new Map<string, UpstreamHour[]>()
  readonly #timings = new Map<number, TimingHour>()

  add(row: RelayRow): void {
    if (row.providerId === null || row.upstreamKeyId === null) return
    const hourMs = Math.floor(row.atMs / HOUR_MS) * HOUR_MS
    addRow(this.#upstream(hourMs, row.providerId, row.upstreamKeyId).sums, row)
    const timing = this.#timing(hourMs)
    count(timing.overhead, row.overheadUs)
    count(timing.total, row.totalUs)
    if (row.ttftUs !== null) count(timing.ttft, row.ttftUs)
  }

  async addTo(queryable: Queryable): Promise<void> {
    if (this.#timings.size === 0) return
    const upstreams = inLockOrder([...this.#upstreams.values()].flat().map((hour) => [nameOf(hour), hour]))
    await queryable.query(ADD_UPSTREAMS, [
      upstreams.map(({ hourMs }) => hourMs),
      upstreams.map(({ providerId }) => providerId),
      upstreams.map(({ upstreamKeyId }) => upstreamKeyId),
      ...UPSTREAM_SUMS.map((column) => upstreams.map(({ sums }) => sums[column])),
    ])
    const hours = [...this.#timings].sort(([a], [b]) => a - b)
    const counts = hours.flatMap(([hourMs, timing]) => MEASURES.flatMap((measure) => countsOf(hourMs, measure, timing)))
    await queryable.query(
      ADD_TIMINGS,
      [0, 1, 2, 3].map((index) => counts.map((one) => one[index])),
    )
  }

  #upstream(hourMs: number, providerId: string, upstreamKeyId: string): UpstreamHour {
    let among = this.#upstreams.get(upstreamKeyId)
    if (among === undefined) this.#upstreams.set(upstreamKeyId, (among = []))
    let hour = among.find((one) => one.hourMs === hourMs && one.providerId === providerId)
    if (hour === undefined) among.push((hour = { hourMs, providerId, upstreamKeyId, sums: noSums() }))
    return hour
  }

  #timing(hourMs: number): TimingHour {
    let timing = this.#timings.get(hourMs)
    if (timing === undefined) {
      const none = (): Float64Array => new Float64Array(BUCKETS)
      this.#timings.set(hourMs, (timing = { overhead: none(), total: none(), ttft: none() }))
    }
    return timing
  }
}

function addRow(sums: UpstreamHour['sums'], row: RelayRow): void {
  sums.requests += 1
  sums.errors += row.status === null || row.status >= 400 ? 1 : 0
  sums.aborted += row.aborted ? 1 : 0
  sums.prompt_tokens += row.promptTokens
  sums.completion_tokens += row.completionTokens
  sums.cached_tokens += row.cachedTokens
  sums.cost_micro += row.costMicro
  sums.ttft_us += row.ttftUs ?? 0
  sums.ttft_count += row.ttftUs === null ? 0 : 1
  sums.total_us += row.totalUs
}

function noSums(): UpstreamHour['sums'] {
  return {
    requests: 0,
    errors: 0,
    aborted: 0,
    prompt_tokens: 0,
    completion_tokens: 0,
    cached_tokens: 0,
    cost_micro: 0,
    ttft_us: 0,
    ttft_count: 0,
    total_us: 0,
  }
}

function count(buckets: Float64Array, durationUs: number): void {
  const bucket = bucketOf(durationUs)
  buckets[bucket] = (buckets[bucket] ?? 0) + 1
}

function countsOf(hourMs: number, measure: Measure, timing: TimingHour): Array<[number, Measure, number, number]> {
  const counts: Array<[number, Measure, number, number]> = []
  timing[measure].forEach((requests, bucket) => {
    if (requests > 0) counts.push([hourMs, measure, bucket, requests])
  })
  return counts
}

function nameOf({ hourMs, providerId, upstreamKeyId }: UpstreamHour): string {
  return [hourMs, providerId, upstreamKeyId].join('\0')
}
