import { useEffect, useRef, useState } from 'react'
import { queryClient, refresh } from '../../api/queries.ts'
import type { Scope } from '../../shell/scope.ts'
import type { LogRow } from '../requests/log-calls.ts'
import { useLive } from '../requests/use-live.ts'

/** New requests are in the sums after at most this long. */
const REFRESH_MS = 10_000
/** Without the stream. */
const POLL_MS = 60_000
const MAX_ROWS = 8
const NO_FILTER = {}

interface Freshness {
  readonly isLive: boolean
  /** The newest requests since the page was opened, the newest first. */
  readonly rows: readonly LogRow[]
  /** The interval at which sums are read anyway. */
  readonly everyMs: number
}

/** Follows the stream of requests where the person may read the log: sums are then read again only when something has ended. */
export function useFreshness(scope: Scope, isAllowed: boolean): Freshness {
  const [isOn, setIsOn] = useState(isAllowed)
  const [rows, setRows] = useState<readonly LogRow[]>([])
  const hasNews = useRef(false)
  const isLost = useLive({
    scope,
    query: NO_FILTER,
    isOn,
    onRows: (fresh) => {
      hasNews.current = true
      setRows((shown) => [...fresh, ...shown].slice(0, MAX_ROWS))
    },
    onGap: () => {
      hasNews.current = true
    },
    onRefused: () => {
      setIsOn(false)
    },
  })
  useEffect(() => {
    const timer = setInterval(() => {
      if (!hasNews.current) return
      hasNews.current = false
      void refresh('usage', 'enterpriseUsage', 'adminUsage', 'latency', 'enterpriseLatency', 'adminLatency')
      void queryClient.invalidateQueries({ queryKey: ['latest'] })
    }, REFRESH_MS)
    return () => {
      clearInterval(timer)
    }
  }, [])
  return { isLive: isOn && !isLost, rows, everyMs: POLL_MS }
}
