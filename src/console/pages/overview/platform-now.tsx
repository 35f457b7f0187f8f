import type { ReactNode } from 'react'
import { useRead } from '../../api/queries.ts'
import { LoadStrip } from '../../parts/load-strip.tsx'
import type { Load } from '../../parts/use-load.ts'
import { Count, Nothing } from '../../parts/values.tsx'
import { pathIn } from '../../shell/scope.ts'
import type { Scope } from '../../shell/scope.ts'
import { useZone } from '../../shell/zone.tsx'
import { useWords } from '../../words/index.ts'

const EVERY_MS = 60_000

/** The load of the platform, and how many use it. */
export function PlatformNow({ scope, load }: { readonly scope: Scope; readonly load: Load }): ReactNode {
  const t = useWords('overview')
  const common = useWords('common')
  const { zone } = useZone()
  const dashboard = useRead('adminDashboard', { query: { period: '24h', time_zone: zone } }, { everyMs: EVERY_MS })
  const active = dashboard.data?.active
  const value = (count: number | undefined): ReactNode =>
    count === undefined ? <Nothing why={common('load.waiting')} /> : <Count value={count} isShort />
  return (
    <LoadStrip
      load={load}
      more={[
        {
          name: common('pages.enterprises'),
          value: value(active?.enterprises),
          note: t('active'),
          href: pathIn(scope, '/enterprises'),
        },
        { name: common('pages.users'), value: value(active?.users), note: t('active'), href: pathIn(scope, '/users') },
        { name: common('pages.keys'), value: value(active?.keys), note: t('active') },
      ]}
    />
  )
}
