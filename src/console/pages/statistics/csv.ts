import { csvText } from '../../format/csv.ts'
import type { Usage } from '../../parts/usage.ts'

const SUMS = [
  'requests',
  'errors',
  'aborted',
  'prompt_tokens',
  'completion_tokens',
  'cached_tokens',
  'reasoning_tokens',
  'cost',
  'mean_ttft_ms',
  'mean_total_ms',
] as const

/** The series with all its sums, a row for each time and group; `cost` is in micro-units, as the API has it. */
export function csvOf(usage: Usage, group: string | null, nameOf: (row: Usage['series'][number]) => string): string {
  const head = ['time', ...(group === null ? [] : [group, 'name']), ...SUMS]
  const rows = usage.series.map((row) => [
    row.time,
    ...(group === null ? [] : [row.group ?? '', nameOf(row)]),
    ...SUMS.map((name) => row[name] ?? ''),
  ])
  return csvText([head, ...rows])
}
