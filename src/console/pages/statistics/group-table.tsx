import { ActionIcon } from '@mantine/core'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { useGroupNames } from '../../parts/group-names.ts'
import { percent } from '../../format/numbers.ts'
import { Icon } from '../../parts/icons.tsx'
import { logRangeOf } from '../../parts/periods.ts'
import { Failed } from '../../parts/states.tsx'
import { useUsage } from '../../parts/usage.ts'
import type { Sums, Usage } from '../../parts/usage.ts'
import { Count, Duration, Money, Nothing, useLocale } from '../../parts/values.tsx'
import type { Scope } from '../../shell/scope.ts'
import { useZone } from '../../shell/zone.tsx'
import { useWords } from '../../words/index.ts'
import { FILTERS } from '../requests/filter.ts'
import type { FilterName } from '../requests/filter.ts'
import { logLink } from '../requests/log-link.ts'
import { isSum, usageQueryOf, valueOf } from './question.ts'
import type { GroupBy, Question } from './question.ts'
import classes from './statistics-page.module.css'

const SUBGROUPS = 10

interface GroupTableProps {
  readonly scope: Scope
  readonly question: Question
  readonly usage: Usage
  readonly nameOf: (group: string) => string
  readonly zone: string
}

/** The sums of the chart as numbers: the whole period by group, each open to its requests or its subgroups. */
export function GroupTable({ scope, question, usage, nameOf, zone }: GroupTableProps): ReactNode {
  const t = useWords('statistics')
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set())
  const { groupBy, subgroup } = question
  const toggle = (group: string): void => {
    const next = new Set(opened)
    if (!next.delete(group)) next.add(group)
    setOpened(next)
  }
  const linkOf = useLogLink(scope, question)
  return (
    <div className={classes.scroll} tabIndex={0} role="region" aria-label={t('table')}>
      <table className={classes.table}>
        <thead>
          <tr>
            <th scope="col">{groupBy === null ? t('period') : t(`groups.${kindOf(groupBy)}`)}</th>
            {(['requests', 'errors', 'input', 'output', 'cost', 'ttft', 'total', 'share'] as const).map((name) => (
              <th key={name} scope="col">
                {t(`columns.${name}`)}
              </th>
            ))}
          </tr>
        </thead>
        {usage.groups.map((row) => {
          const { group, others } = row
          const value = group ?? ''
          const isOpen = opened.has(value)
          const canOpen = !others && subgroup !== null && value !== '' && groupBy !== null
          const name = others ? t('others') : nameOf(value)
          const href = others || groupBy === null ? null : linkOf(groupBy, value)
          return (
            <tbody key={others ? 'others' : value}>
              <tr>
                <th scope="row" title={name}>
                  <span className={classes.first}>
                    {canOpen && (
                      <ActionIcon
                        size={24}
                        aria-expanded={isOpen}
                        aria-label={t('open', { name })}
                        onClick={() => {
                          toggle(value)
                        }}
                      >
                        <Icon name={isOpen ? 'chevronDown' : 'chevronRight'} size={14} />
                      </ActionIcon>
                    )}
                    {href === null ? <span>{name}</span> : <Link href={href}>{name}</Link>}
                  </span>
                </th>
                <Cells sums={row} question={question} total={usage.totals} />
              </tr>
              {isOpen && groupBy !== null && subgroup !== null && (
                <SubRows
                  scope={scope}
                  question={question}
                  zone={zone}
                  within={[groupBy, value]}
                  by={subgroup}
                  total={usage.totals}
                />
              )}
            </tbody>
          )
        })}
        <tfoot>
          <tr>
            <th scope="row">{t('all')}</th>
            <Cells sums={usage.totals} question={question} total={usage.totals} />
          </tr>
        </tfoot>
      </table>
    </div>
  )
}

interface CellsProps {
  readonly sums: Sums
  readonly question: Question
  readonly total: Sums
}

function Cells({ sums, question, total }: CellsProps): ReactNode {
  const t = useWords('statistics')
  const locale = useLocale()
  const { metric } = question
  const [own, whole] = [valueOf(metric, sums), valueOf(metric, total)]
  const ms = (value: number | null): ReactNode =>
    value === null ? <Nothing why={t('noDuration')} /> : <Duration ms={value} />
  return (
    <>
      <td>
        <Count value={sums.requests} />
      </td>
      <td className={sums.errors > 0 ? classes.bad : undefined}>
        <Count value={sums.errors} />
      </td>
      <td>
        <Count value={sums.prompt_tokens} />
      </td>
      <td>
        <Count value={sums.completion_tokens} />
      </td>
      <td>
        <Money micro={sums.cost} />
      </td>
      <td>{ms(sums.mean_ttft_ms)}</td>
      <td>{ms(sums.mean_total_ms)}</td>
      <td>
        {!isSum(metric) || own === null || whole === null || whole === 0 ? (
          <Nothing why={t('noShare')} />
        ) : (
          percent(own / whole, locale)
        )}
      </td>
    </>
  )
}

interface SubRowsProps {
  readonly scope: Scope
  readonly question: Question
  readonly zone: string
  readonly within: readonly [by: GroupBy, value: string]
  readonly by: GroupBy
  readonly total: Sums
}

function SubRows({ scope, question, zone, within: [by, value], by: subgroup, total }: SubRowsProps): ReactNode {
  const t = useWords('statistics')
  const nameOf = useGroupNames(scope, subgroup)
  const filter = filterBy(by, value)
  const usage = useUsage(scope, {
    ...usageQueryOf({ ...question, groupBy: subgroup, top: SUBGROUPS }, zone),
    granularity: 'month',
    ...(filter === null ? {} : asQuery(filter, question)),
  })
  if (usage.isError) {
    return (
      <tr>
        <td colSpan={9}>
          <Failed cause={usage.error} />
        </td>
      </tr>
    )
  }
  return usage.data?.groups.map((row) => (
    <tr key={row.others ? 'others' : row.group} className={classes.sub}>
      <th scope="row">
        {row.others ? t('others') : row.group === '' || row.group === null ? t('none') : nameOf(row.group)}
      </th>
      <Cells sums={row} question={question} total={total} />
    </tr>
  ))
}

/** The filter that has the requests of a group alone. */
function filterBy(by: GroupBy, value: string): readonly [FilterName, string] | null {
  if (by.startsWith('tag:')) return ['tag', `${by.slice(4)}:${value}`]
  if (by === 'upstream_key') return ['upstream', value]
  return by in FILTERS ? [by as FilterName, value] : null
}

function asQuery([name, value]: readonly [FilterName, string], { filter }: Question): object {
  if (name === 'tag') return { tag: [...(filter.values.tag ?? []), value] }
  return { [FILTERS[name]]: name === 'status' ? Number(value) : value }
}

function kindOf(by: GroupBy): Exclude<GroupBy, `tag:${string}`> | 'tag' {
  return by.startsWith('tag:') ? 'tag' : (by as Exclude<GroupBy, `tag:${string}`>)
}

function useLogLink(scope: Scope, { period, fixed, filter }: Question): (by: GroupBy, value: string) => string | null {
  const { now } = useZone()
  return (by, value) => {
    const found = value === '' ? null : filterBy(by, value)
    if (found === null) return null
    const range =
      fixed === null
        ? logRangeOf(period, now)
        : { from: new Date(fixed.fromMs).toISOString(), to: new Date(fixed.toMs).toISOString() }
    const others = Object.fromEntries(Object.entries(filter.values).map(([name, [first = '']]) => [name, first]))
    return logLink(scope, { ...others, [found[0]]: found[1] }, range)
  }
}
