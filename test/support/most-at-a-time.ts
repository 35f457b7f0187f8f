import type { RequestRecord } from '../../src/simulator/ledger.ts'

/**
 * The largest set of requests that ran at the same time. A request may have ended up to `latenessMs` before the simulator recorded
 * its end: when its connection was lost, or when the peer read the last bytes while the simulator was blocked.
 *
 * @param leavers users that left by themselves: a complete answer may have been written after they had left
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
    // The peer may have left before the simulator read the request.
    if (!wasThere(record) && endOf(record) === record.startedAt) continue
    current = [...current.filter((other) => endOf(other) > record.startedAt), record]
    if (current.length > most.length) most = current
  }
  return most
}
