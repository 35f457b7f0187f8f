import { createContext, use, useEffect, useMemo, useState } from 'react'
import type { ReactNode } from 'react'
import { remember, remembered } from '../api/preferences.ts'

const MINUTE_MS = 60_000

export type ZoneChoice = 'scope' | 'utc' | 'local'

interface Zone {
  /** IANA name of the zone of all times on the page. */
  readonly zone: string
  readonly choice: ZoneChoice
  /** The zone of the enterprise; null where there is none. */
  readonly scopeZone: string | null
  readonly choose: (choice: ZoneChoice) => void
  /** Renewed every minute, so that "3 minutes ago" stays true. */
  readonly now: Date
}

export const LOCAL_ZONE: string = new Intl.DateTimeFormat().resolvedOptions().timeZone

const ZoneContext = createContext<Zone | null>(null)

export function useZone(): Zone {
  const zone = use(ZoneContext)
  if (zone === null) throw new Error('useZone() is used outside of ZoneProvider.')
  return zone
}

export function ZoneProvider({
  scopeZone,
  children,
}: {
  readonly scopeZone: string | null
  readonly children: ReactNode
}): ReactNode {
  const [choice, setChoice] = useState<ZoneChoice>(() => {
    const stored = remembered('zone')
    return stored === 'utc' || stored === 'local' ? stored : 'scope'
  })
  const [now, setNow] = useState(() => new Date())
  useEffect(() => {
    const timer = setInterval(() => {
      setNow(new Date())
    }, MINUTE_MS)
    return () => {
      clearInterval(timer)
    }
  }, [])
  const value = useMemo<Zone>(() => {
    const zone = choice === 'utc' ? 'UTC' : choice === 'local' ? LOCAL_ZONE : (scopeZone ?? LOCAL_ZONE)
    const choose = (next: ZoneChoice): void => {
      remember('zone', next)
      setChoice(next)
    }
    return { zone, choice, scopeZone, choose, now }
  }, [choice, scopeZone, now])
  return <ZoneContext value={value}>{children}</ZoneContext>
}
