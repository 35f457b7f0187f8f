import { tellFailure } from '../../parts/told.ts'
import { useEvents } from '../../parts/use-events.ts'
import type { Scope } from '../../shell/scope.ts'
import type { LogQuery } from './filter.ts'
import { hasGap } from './live-rows.ts'
import type { RequestsEvent } from './live-rows.ts'
import { streamLog } from './log-calls.ts'
import type { LogRow } from './log-calls.ts'

interface LiveOptions {
  readonly scope: Scope
  readonly query: LogQuery
  readonly isOn: boolean
  /** Newest first. */
  readonly onRows: (rows: readonly LogRow[]) => void
  /** Requests were missed: the list has them. */
  readonly onGap: () => void
  /** The gateway refuses the stream. */
  readonly onRefused: () => void
}

/** Reads new requests from the gateway's stream. Returns whether it is lost at the moment. */
export function useLive({ scope, query, isOn, onRows, onGap, onRefused }: LiveOptions): boolean {
  const { from: _, to: __, ...filter } = query
  return useEvents({
    name: JSON.stringify([scope, filter]),
    isOn,
    open: (signal) => streamLog(scope, query, signal),
    onEvent: (kind, data) => {
      // Between the list and the stream something may have ended.
      if (kind === 'ready') onGap()
      if (kind !== 'requests') return
      const event = JSON.parse(data) as RequestsEvent
      if (hasGap(event)) onGap()
      else onRows(event.data)
    },
    onRefused: (cause) => {
      tellFailure(cause)
      onRefused()
    },
  })
}
