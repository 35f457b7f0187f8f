import type { RequestRecord } from '../../src/simulator/ledger.ts'

/**
 * Most requests that were under way at the same time. One whose peer left counts until `latenessMs` before that was seen: the
 * peer had gone before.
 */
export function mostAtATime(records: readonly RequestRecord[], latenessMs: number): number {
  const changes = records.flatMap(({ startedAt, endedAt, outcome }) => [
    { atMs: startedAt, by: 1 },
    { atMs: outcome === 'aborted' ? Math.max(startedAt, endedAt - latenessMs) : endedAt, by: -1 },
  ])
  changes.sort((a, b) => a.atMs - b.atMs || a.by - b.by)
  let now = 0
  let most = 0
  for (const { by } of changes) most = Math.max(most, (now += by))
  return most
}
