import type { RequestRecord } from '../../src/simulator/ledger.ts'

/**
 * The requests of the moment at which most of them were under way. The other side may have known of an end `latenessMs` before it
 * was seen: of a connection that was lost, and of an answer whose last bytes were taken while this side was held up.
 */
export function mostAtATime(records: readonly RequestRecord[], latenessMs: number): readonly RequestRecord[] {
  const endOf = ({ startedAt, endedAt, outcome }: RequestRecord): number =>
    Math.max(outcome === 'ok' ? Math.min(endedAt, startedAt + 1) : startedAt, endedAt - latenessMs)
  let most: readonly RequestRecord[] = []
  let current: RequestRecord[] = []
  for (const record of [...records].sort((a, b) => a.startedAt - b.startedAt)) {
    // Its peer may have gone before it was even read.
    if (record.outcome !== 'ok' && endOf(record) === record.startedAt) continue
    current = [...current.filter((other) => endOf(other) > record.startedAt), record]
    if (current.length > most.length) most = current
  }
  return most
}
