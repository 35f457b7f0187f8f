import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { Duration, Money, Nothing, Time } from '../../parts/values.tsx'
import { pathIn } from '../../shell/scope.ts'
import type { Scope } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import { Status } from '../requests/columns.tsx'
import { useLatest } from '../requests/log-calls.ts'
import type { LogRow } from '../requests/log-calls.ts'
import classes from './overview-page.module.css'

const MOST = 6

/** The newest requests, as they end. */
export function Latest({ scope, rows }: { readonly scope: Scope; readonly rows: readonly LogRow[] }): ReactNode {
  const t = useWords('overview')
  const list = useLatest(scope, {}, MOST)
  const ids = new Set(rows.map(({ id }) => id))
  const shown = [...rows, ...(list.data?.data ?? []).filter(({ id }) => !ids.has(id))].slice(0, MOST)
  const base = pathIn(scope, '/requests')
  return (
    <section className={classes.panel}>
      <h2 className={classes.panelTitle}>
        <Link href={base}>{t('latest')}</Link>
      </h2>
      <table className={`${classes.table ?? ''} ${classes.latest ?? ''}`} data-testid="latest">
        <thead>
          <tr>
            <th scope="col">{t('columns.time')}</th>
            <th scope="col" className={classes.left}>
              {t('columns.status')}
            </th>
            <th scope="col" className={classes.left}>
              {t('group.model')}
            </th>
            <th scope="col">{t('figures.cost')}</th>
            <th scope="col" className={classes.wide}>
              {t('figures.total')}
            </th>
          </tr>
        </thead>
        <tbody>
          {shown.map((row) => (
            <tr key={row.id}>
              <th scope="row">
                <Link href={`${base}/${encodeURIComponent(row.id)}`}>
                  <Time at={row.time} />
                </Link>
              </th>
              <td className={classes.left}>
                <Status row={row} />
              </td>
              <td className={classes.left}>{row.model ?? row.endpoint}</td>
              <td>{row.cost === null ? <Nothing why={t('noCost')} /> : <Money micro={row.cost} />}</td>
              <td className={classes.wide}>
                <Duration ms={row.total_us / 1_000} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}
