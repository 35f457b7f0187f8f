import type { RequestRecord } from '../../src/simulator/ledger.ts'

/**
 * The requests of the moment at which most of them were under way. The other side may have known of an end `latenessMs` before it
 * was seen: of a connection that was lost, and of an answer whose last bytes were taken while this side was held up.
 *
 * @param leavers users who left on their own: a whole answer may have been written to one who had gone already
 */
export function mostAtATime(
  records: readonly RequestRecord[],
  latenessMs: number,
  leavers: ReadonlySet<string>,
): readonly RequestRecord[] {
  const wasThere = ({ outcome, user }: RequestRecord): boolean =>
    outcome === 'ok' && !(user !== null && leavers.has(user))
  const endOf = (record: RequestRecord): number => {
    const { startedAt, endedAt } = record
    return Math.max(wasThere(record) ? Math.min(endedAt, startedAt + 1) : startedAt, endedAt - latenessMs)
  }
  let most: readonly RequestRecord[] = []
  let current: RequestRecord[] = []
  for (const record of [...records].sort((a, b) => a.startedAt - b.startedAt)) {
    // Its peer may have gone before it was even read.
    if (!wasThere(record) && endOf(record) === record.startedAt) continue
    current = [...current.filter((other) => endOf(other) > record.startedAt), record]
    if (current.length > most.length) most = current
  }
  return most
}
