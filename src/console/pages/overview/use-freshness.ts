import { useEffect, useRef, useState } from 'react'
import { renew } from '../../api/queries.ts'
import { tellFailure } from '../../parts/told.ts'
import { useEvents } from '../../parts/use-events.ts'
import { useLoadState } from '../../parts/use-load.ts'
import type { Load } from '../../parts/use-load.ts'
import type { Scope } from '../../shell/scope.ts'
import { streamLog } from '../requests/log-calls.ts'
import type { LogRow } from '../requests/log-calls.ts'
import { newestAfter } from '../requests/live-rows.ts'
import type { RequestsEvent } from '../requests/live-rows.ts'

/** New requests are in the sums after at most this long. */
const REFRESH_MS = 10_000
/** Without the stream. */
const POLL_MS = 60_000
const MAX_ROWS = 8
const NO_FILTER = {}

interface Freshness {
  readonly isLive: boolean
  /** The newest requests since the stream began or had a gap, the newest first. */
  readonly rows: readonly LogRow[]
  /** The interval at which sums are read anyway. */
  readonly everyMs: number
  /** Of the platform: the same stream tells it. Elsewhere it stays unknown. */
  readonly load: Load
}

/** Follows the stream of requests where the person may read the log: sums are then read again only when something has ended. */
export function useFreshness(scope: Scope, isAllowed: boolean): Freshness {
  const [isOn, setIsOn] = useState(isAllowed)
  const [rows, setRows] = useState<readonly LogRow[]>([])
  const hasNews = useRef(false)
  const { now, keys, onEvent } = useLoadState()
  const isLost = useEvents({
    name: JSON.stringify(scope),
    isOn,
    open: (signal) => streamLog(scope, NO_FILTER, signal),
    onEvent: (kind, data) => {
      onEvent(kind, data)
      // Between the sums and the stream something may have ended.
      if (kind === 'ready' || kind === 'requests') hasNews.current = true
      if (kind === 'ready') {
        setRows([])
        void renew('latest')
      }
      if (kind !== 'requests') return
      const event = JSON.parse(data) as RequestsEvent
      setRows((shown) => newestAfter(event, shown, MAX_ROWS))
    },
    onRefused: (cause) => {
      tellFailure(cause)
      setIsOn(false)
    },
  })
  useEffect(() => {
    const timer = setInterval(() => {
      if (!hasNews.current) return
      hasNews.current = false
      void renew('usage', 'enterpriseUsage', 'adminUsage', 'latency', 'enterpriseLatency', 'adminLatency', 'latest')
    }, REFRESH_MS)
    return () => {
      clearInterval(timer)
    }
  }, [])
  return { isLive: isOn && !isLost, rows, everyMs: POLL_MS, load: { now, keys, isLost } }
}
