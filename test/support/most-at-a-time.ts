import type { RequestRecord } from '../../src/simulator/ledger.ts'

/**
 * The requests of the moment at which most of them were under way. One whose peer left counts until `latenessMs` before that was
 * seen: the peer had gone before.
 */
export function mostAtATime(records: readonly RequestRecord[], latenessMs: number): readonly RequestRecord[] {
  const endOf = ({ startedAt, endedAt, outcome }: RequestRecord): number =>
    outcome === 'aborted' ? Math.max(startedAt, endedAt - latenessMs) : endedAt
  let most: readonly RequestRecord[] = []
  let current: RequestRecord[] = []
  for (const record of [...records].sort((a, b) => a.startedAt - b.startedAt)) {
    // Its peer had gone before it was even read.
    if (record.outcome === 'aborted' && endOf(record) === record.startedAt) continue
    current = [...current.filter((other) => endOf(other) > record.startedAt), record]
    if (current.length > most.length) most = current
  }
  return most
}
