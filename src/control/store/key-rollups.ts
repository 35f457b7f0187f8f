import type { PreparedStatement, Queryable } from './database.ts'
import { DAY_MS } from './partitions.ts'
import type { Sums } from './rollup-sums.ts'

/** The sums of one key in an hour, or a part of them. */
export interface KeyPart {
  readonly keyId: string
  readonly hourMs: number
  readonly lastMs: number
  readonly status: number
  readonly sums: Readonly<Sums>
}

interface KeyDay {
  readonly keyId: string
  readonly dayMs: number
  lastMs: number
  requests: number
  errors: number
  promptTokens: number
  completionTokens: number
  costMicro: number
}

const ADD: PreparedStatement = {
  name: 'rollup-add-keys',
  text: `INSERT INTO key_rollup_daily AS r (key_id, day, last_used_at, requests, errors, prompt_tokens, completion_tokens, cost_micro)
    SELECT t.key_id, to_timestamp(t.day / 1000), to_timestamp(t.last / 1000), t.requests, t.errors, t.prompt_tokens,
      t.completion_tokens, t.cost_micro
    FROM unnest($1::text[], $2::float8[], $3::float8[], $4::int8[], $5::int8[], $6::int8[], $7::int8[], $8::int8[])
      AS t (key_id, day, last, requests, errors, prompt_tokens, completion_tokens, cost_micro)
    ON CONFLICT (key_id, day) DO UPDATE SET last_used_at = greatest(r.last_used_at, excluded.last_used_at),
      requests = r.requests + excluded.requests, errors = r.errors + excluded.errors,
      prompt_tokens = r.prompt_tokens + excluded.prompt_tokens,
      completion_tokens = r.completion_tokens + excluded.completion_tokens, cost_micro = r.cost_micro + excluded.cost_micro`,
}

/** Adds the sums of keys to their days. Requests without a key are left out. */
export async function addToKeyDays(queryable: Queryable, parts: readonly KeyPart[]): Promise<void> {
  const days = new Map<string, KeyDay>()
  for (const part of parts) if (part.keyId !== '') addPart(days, part)
  if (days.size === 0) return
  // Sorted, so that nodes lock the rows in the same order and never deadlock.
  const sorted = [...days].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, day]) => day)
  await queryable.query(ADD, [
    sorted.map(({ keyId }) => keyId),
    sorted.map(({ dayMs }) => dayMs),
    sorted.map(({ lastMs }) => lastMs),
    sorted.map(({ requests }) => requests),
    sorted.map(({ errors }) => errors),
    sorted.map(({ promptTokens }) => promptTokens),
    sorted.map(({ completionTokens }) => completionTokens),
    sorted.map(({ costMicro }) => costMicro),
  ])
}

function addPart(days: Map<string, KeyDay>, { keyId, hourMs, lastMs, status, sums }: KeyPart): void {
  const dayMs = Math.floor(hourMs / DAY_MS) * DAY_MS
  const name = `${keyId}\0${dayMs}`
  let day = days.get(name)
  if (day === undefined) {
    day = { keyId, dayMs, lastMs, requests: 0, errors: 0, promptTokens: 0, completionTokens: 0, costMicro: 0 }
    days.set(name, day)
  }
  day.lastMs = Math.max(day.lastMs, lastMs)
  day.requests += sums.requests
  day.errors += status === 0 || status >= 400 ? sums.requests : 0
  day.promptTokens += sums.prompt_tokens
  day.completionTokens += sums.completion_tokens
  day.costMicro += sums.cost_micro
}
