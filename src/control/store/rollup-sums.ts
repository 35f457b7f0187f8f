/** The columns that rollups sum. */
export const SUM_COLUMNS = [
  'requests',
  'aborted',
  'prompt_tokens',
  'completion_tokens',
  'cached_tokens',
  'cache_write_tokens',
  'reasoning_tokens',
  'cost_micro',
  'queue_us',
  'ttft_us',
  'ttft_count',
  'total_us',
  'overhead_us',
] as const

export type Sums = Record<(typeof SUM_COLUMNS)[number], number>

export function noSums(): Sums {
  return {
    requests: 0,
    aborted: 0,
    prompt_tokens: 0,
    completion_tokens: 0,
    cached_tokens: 0,
    cache_write_tokens: 0,
    reasoning_tokens: 0,
    cost_micro: 0,
    queue_us: 0,
    ttft_us: 0,
    ttft_count: 0,
    total_us: 0,
    overhead_us: 0,
  }
}

export function addSums(to: Sums, sums: Readonly<Sums>): void {
  for (const column of SUM_COLUMNS) to[column] += sums[column]
}

export function negate(sums: Sums): void {
  for (const column of SUM_COLUMNS) sums[column] = 0 - sums[column]
}
