import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { useGroupNames } from '../../parts/group-names.ts'
import { logRangeOf } from '../../parts/periods.ts'
import type { Period } from '../../parts/periods.ts'
import { Failed } from '../../parts/states.tsx'
import { useUsage } from '../../parts/usage.ts'
import { Count, Money } from '../../parts/values.tsx'
import { pathIn } from '../../shell/scope.ts'
import type { Scope } from '../../shell/scope.ts'
import { useZone } from '../../shell/zone.tsx'
import { useWords } from '../../words/index.ts'
import { logLink } from '../requests/log-link.ts'
import classes from './overview-page.module.css'

const MOST = 5

type Group = 'model' | 'key' | 'endpoint' | 'status' | 'department' | 'enterprise'

interface TopGroupsProps {
  readonly scope: Scope
  readonly period: Period
  readonly groupBy: Group
  readonly everyMs: number
}

/** The groups with the most requests; each opens its requests, the title all groups. */
export function TopGroups({ scope, period, groupBy, everyMs }: TopGroupsProps): ReactNode {
  const t = useWords('overview')
  const { now } = useZone()
  const nameOf = useGroupNames(scope, groupBy)
  const usage = useUsage(
    scope,
    { period, granularity: 'month', group_by: groupBy, limit: MOST },
    { keepsOld: true, everyMs },
  )
  const all = `${pathIn(scope, '/statistics')}?${new URLSearchParams({ range: period, group: groupBy }).toString()}`
  return (
    <section className={classes.panel}>
      <h2 className={classes.panelTitle}>
        <Link href={all}>{t(`groups.${groupBy}`)}</Link>
      </h2>
      {usage.isError && usage.data === undefined && <Failed cause={usage.error} />}
      <table className={classes.table}>
        <thead>
          <tr>
            <th scope="col">{t(`group.${groupBy}`)}</th>
            <th scope="col">{t('figures.requests')}</th>
            <th scope="col">{t('columns.failed')}</th>
            <th scope="col">{t('figures.cost')}</th>
          </tr>
        </thead>
        <tbody>
          {usage.data?.groups.map(({ group, others, requests, errors, cost }) => {
            const name =
              others || group === null
                ? t('others')
                : group === '' || group === '0'
                  ? t(`none.${groupBy}`)
                  : nameOf(group)
            const href =
              others || group === null || group === ''
                ? null
                : logLink(scope, { [groupBy]: group }, logRangeOf(period, now))
            return (
              <tr key={others ? 'others' : group}>
                <th scope="row" title={name}>
                  {href === null ? name : <Link href={href}>{name}</Link>}
                </th>
                <td>
                  <Count value={requests} />
                </td>
                <td className={errors > 0 ? classes.bad : undefined}>
                  <Count value={errors} />
                </td>
                <td>
                  <Money micro={cost} />
                </td>
              </tr>
            )
          })}
        </tbody>
      </table>
    </section>
  )
}
