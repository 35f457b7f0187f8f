import type { RequestRecord } from '../../src/simulator/ledger.ts'

/**
 * The requests of the moment at which most of them were under way. One whose connection was lost, by its peer or by a fault,
 * counts until `latenessMs` before that was seen: the other side knew before.
 */
export function mostAtATime(records: readonly RequestRecord[], latenessMs: number): readonly RequestRecord[] {
  const endOf = ({ startedAt, endedAt, outcome }: RequestRecord): number =>
    outcome === 'ok' ? endedAt : Math.max(startedAt, endedAt - latenessMs)
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
