import { ActionIcon, Button } from '@mantine/core'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import type { ResultOf } from '../../../client/index.ts'
import { useRead } from '../../api/queries.ts'
import { dateFormat } from '../../format/time.ts'
import { Badge } from '../../parts/badge.tsx'
import { Icon } from '../../parts/icons.tsx'
import { Page } from '../../parts/page.tsx'
import { saveFile } from '../../parts/save-file.ts'
import { Empty, Failed } from '../../parts/states.tsx'
import { TableSkeleton } from '../../parts/table.tsx'
import { useUrlState } from '../../parts/url-state.ts'
import { useUsage } from '../../parts/usage.ts'
import { Count, Money, Nothing, Time, useLocale } from '../../parts/values.tsx'
import { mayIn, useAccount } from '../../shell/scope.ts'
import type { Scope } from '../../shell/scope.ts'
import { useZone } from '../../shell/zone.tsx'
import { useHolderNames } from '../../parts/holder-names.ts'
import { useWords } from '../../words/index.ts'
import type { PageProps } from '../page-props.ts'
import { logLink } from '../requests/log-link.ts'
import { monthAfter, monthOf } from './months.ts'
import { MoveMoney } from './move-money.tsx'
import { statementCsv } from './statement-csv.ts'
import classes from './wallet-page.module.css'

type Wallet = ResultOf<'getWallet'>
type Statement = ResultOf<'walletStatement'>

const DAY_MS = 86_400_000
/** Of all that was paid: below it, the page warns. */
const LOW = 0.1

export function WalletPage({ scope }: PageProps): ReactNode {
  const t = useWords('wallet')
  const common = useWords('common')
  const { role } = useAccount()
  const url = useUrlState()
  const [act, setAct] = useState<'topup' | 'adjust' | null>(null)
  const params = { id: scope.kind === 'enterprise' ? scope.id : '' }
  const wallet = useRead('getWallet', { params }, { everyMs: 30_000 })
  const month = url.query.get('month')
  const query = month === null || !/^20\d\d-(0[1-9]|1[0-2])$/.test(month) ? {} : { month }
  const statement = useRead('walletStatement', { params, query }, { keepsOld: true })
  const isOpenToTenant = wallet.data?.tenant_topup
  const canTopUp = role === 'admin' || (mayIn(scope, 'wallet.topup') && isOpenToTenant === true)
  return (
    <Page
      title={t('title')}
      about={t('about')}
      acts={
        <>
          {role === 'admin' && (
            <Button
              variant="default"
              onClick={() => {
                setAct('adjust')
              }}
            >
              {t('adjust')}
            </Button>
          )}
          {canTopUp && (
            <Button
              leftSection={<Icon name="plus" size={14} />}
              onClick={() => {
                setAct('topup')
              }}
            >
              {t('topUp')}
            </Button>
          )}
        </>
      }
    >
      {wallet.data === undefined && wallet.isError && (
        <Failed
          cause={wallet.error}
          retry={() => {
            void wallet.refetch()
          }}
        />
      )}
      {wallet.data !== undefined && <Balance wallet={wallet.data} />}
      {isOpenToTenant === false && role !== 'admin' && <p className="muted note">{t('byPlatform')}</p>}
      {statement.data === undefined && statement.isError && (
        <Failed
          cause={statement.error}
          retry={() => {
            void statement.refetch()
          }}
        />
      )}
      {statement.data === undefined && statement.isPending && <TableSkeleton label={common('loading')} />}
      {statement.data !== undefined && (
        <div className={classes.content} data-old={statement.isPlaceholderData || undefined}>
          <MonthHead
            statement={statement.data}
            onMonth={(chosen) => {
              url.set({ month: chosen })
            }}
          />
          <Sums statement={statement.data} />
          <Lines
            scope={scope}
            statement={statement.data}
            isNew={wallet.data?.credited === 0 && wallet.data.charged === 0}
            first={t(canTopUp ? 'emptyAbout' : isOpenToTenant === true ? 'emptyAsk' : 'emptyByPlatform')}
          />
          <Departments scope={scope} statement={statement.data} />
        </div>
      )}
      {act !== null && wallet.data !== undefined && (
        <MoveMoney
          enterpriseId={params.id}
          kind={act}
          currency={wallet.data.currency}
          onClose={() => {
            setAct(null)
          }}
        />
      )}
    </Page>
  )
}

/** The balance, the part that requests under way hold, and the part that new ones may use. */
function Balance({ wallet }: { readonly wallet: Wallet }): ReactNode {
  const t = useWords('wallet')
  const { balance, credited, currency, is_prepaid: isPrepaid, spend } = wallet
  const available = spend?.remaining ?? balance
  const state = !isPrepaid
    ? 'later'
    : available <= 0
      ? 'empty'
      : credited > 0 && available < credited * LOW
        ? 'low'
        : 'ok'
  const badge = {
    later: (
      <Badge tone="plain" icon="clock">
        {t('states.later')}
      </Badge>
    ),
    empty: (
      <Badge tone="bad" icon="alert">
        {t('states.empty')}
      </Badge>
    ),
    low: (
      <Badge tone="warn" icon="alert">
        {t('states.low')}
      </Badge>
    ),
    ok: (
      <Badge tone="good" icon="check">
        {t('states.ok')}
      </Badge>
    ),
  }[state]
  return (
    <>
      <ul className={classes.figures}>
        <li>
          <span>{t('balance')}</span>
          <strong>
            <Money micro={balance} currency={currency} />
          </strong>
          {badge}
        </li>
        <li>
          <span>{t('held')}</span>
          <strong>
            {spend === null ? <Nothing why={t('hidden')} /> : <Money micro={spend.held} currency={currency} />}
          </strong>
          <small>{t('heldAbout')}</small>
        </li>
        <li>
          <span>{t('available')}</span>
          <strong>
            {isPrepaid ? <Money micro={available} currency={currency} /> : <Nothing why={t('laterAbout')} />}
          </strong>
          <small>{isPrepaid ? t('availableAbout') : t('laterAbout')}</small>
        </li>
      </ul>
      {(state === 'empty' || state === 'low') && (
        <p className={classes.alert} data-tone={state === 'empty' ? 'bad' : 'warn'} role="status">
          <Icon name="alert" />
          {t(`advice.${state}`)}
        </p>
      )}
    </>
  )
}

interface MonthHeadProps {
  readonly statement: Statement
  /** Null: the present one. */
  readonly onMonth: (month: string | null) => void
}

function MonthHead({ statement, onMonth }: MonthHeadProps): ReactNode {
  const t = useWords('wallet')
  const locale = useLocale()
  const { now } = useZone()
  const { from, to, time_zone: zone } = statement
  const month = monthOf(from, zone)
  const isPresent = Date.parse(to) > now.getTime()
  return (
    <div className={classes.month}>
      <h2>
        {dateFormat(locale, { timeZone: zone, month: 'long', year: 'numeric' }).format(Date.parse(from) + DAY_MS)}
      </h2>
      <ActionIcon
        variant="default"
        aria-label={t('monthBefore')}
        title={t('monthBefore')}
        onClick={() => {
          onMonth(monthAfter(month, -1))
        }}
      >
        <Icon name="chevronLeft" size={14} />
      </ActionIcon>
      <ActionIcon
        variant="default"
        aria-label={t('monthAfter')}
        title={isPresent ? t('lastMonth') : t('monthAfter')}
        disabled={isPresent}
        onClick={() => {
          onMonth(monthAfter(month, 1))
        }}
      >
        <Icon name="chevronRight" size={14} />
      </ActionIcon>
      <span className="muted note">{t('zone', { zone })}</span>
      <span className={classes.gap} />
      <Button
        variant="default"
        size="xs"
        leftSection={<Icon name="download" size={14} />}
        disabled={statement.lines.length === 0}
        title={statement.lines.length === 0 ? t('emptyMonth') : undefined}
        onClick={() => {
          saveFile(new Blob([statementCsv(statement)], { type: 'text/csv' }), `statement-${month}.csv`)
        }}
      >
        {t('csv')}
      </Button>
    </div>
  )
}

function Sums({ statement }: { readonly statement: Statement }): ReactNode {
  const t = useWords('wallet')
  const { currency, opening, credited, refunded, adjusted, charged, closing } = statement
  const rows = [
    ['opening', opening],
    ['credited', credited],
    ...(refunded === 0 ? [] : [['refunded', refunded] as const]),
    ...(adjusted === 0 ? [] : [['adjusted', adjusted] as const]),
    ['charged', charged],
    ['closing', closing],
  ] as ReadonlyArray<readonly ['opening' | 'credited' | 'refunded' | 'adjusted' | 'charged' | 'closing', number]>
  return (
    <dl className={classes.sums}>
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{t(`sums.${name}`)}</dt>
          <dd>
            <Money micro={value} currency={currency} />
          </dd>
        </div>
      ))}
    </dl>
  )
}

interface LinesProps {
  readonly scope: Scope
  readonly statement: Statement
  /** The wallet was never used. */
  readonly isNew: boolean
  /** The first step, where it was not. */
  readonly first: string
}

function Lines({ scope, statement, isNew, first }: LinesProps): ReactNode {
  const t = useWords('wallet')
  const locale = useLocale()
  const { lines, currency, omitted, time_zone: zone } = statement
  if (lines.length === 0) {
    return <Empty icon="wallet" title={isNew ? t('empty') : t('emptyMonth')} {...(isNew ? { text: first } : {})} />
  }
  return (
    <>
      <table className={classes.lines}>
        <thead>
          <tr>
            <th scope="col">{t('columns.time')}</th>
            <th scope="col">{t('columns.what')}</th>
            <th scope="col">{t('columns.amount')}</th>
            <th scope="col">{t('columns.balance')}</th>
          </tr>
        </thead>
        <tbody>
          {lines.map(({ id, kind, amount, balance, reference, time, day }) => {
            const href = day === null ? null : logLink(scope, {}, { from: day, to: dayAfter(day) })
            const shown = day === null ? t(`kinds.${kind}`) : t('usageOf')
            return (
              <tr key={id ?? day}>
                <td>
                  {day === null ? (
                    <Time at={time} />
                  ) : (
                    dateFormat(locale, { timeZone: zone, day: 'numeric', month: 'short' }).format(new Date(day))
                  )}
                </td>
                <td>
                  {href === null ? shown : <Link href={href}>{shown}</Link>}
                  {reference !== null && <span className={classes.reference}>{reference}</span>}
                </td>
                <td data-in={amount > 0 || undefined}>
                  {amount > 0 && '+'}
                  <Money micro={amount} currency={currency} />
                </td>
                <td>
                  <Money micro={balance} currency={currency} />
                </td>
              </tr>
            )
          })}
        </tbody>
      </table>
      {omitted > 0 && <p className="muted note">{t('omitted', { count: omitted })}</p>}
    </>
  )
}

/** Days may have 23 or 25 hours: the log is asked for a day and what the clock was moved by. */
function dayAfter(day: string): string {
  return new Date(Date.parse(day) + DAY_MS).toISOString()
}

function Departments({ scope, statement }: { readonly scope: Scope; readonly statement: Statement }): ReactNode {
  const t = useWords('wallet')
  const names = useHolderNames(scope)
  const hours = Math.ceil((Date.parse(statement.to) - Date.parse(statement.from)) / 3_600_000)
  const usage = useUsage(
    scope,
    { period: `${hours}h`, to: statement.to, granularity: 'month', group_by: 'department', sort: 'cost' },
    { keepsOld: true },
  )
  const groups = usage.data?.groups ?? []
  if (groups.every(({ group }) => group === '')) return null
  return (
    <section className={classes.departments}>
      <h3>{t('byDepartment')}</h3>
      <table className={classes.lines}>
        <thead>
          <tr>
            <th scope="col">{t('columns.department')}</th>
            <th scope="col">{t('columns.requests')}</th>
            <th scope="col">{t('columns.cost')}</th>
          </tr>
        </thead>
        <tbody>
          {groups.map(({ group, others, requests, cost }) => (
            <tr key={others ? 'others' : group}>
              <td>{others ? t('others') : (names.department(group === '' ? null : group) ?? t('noDepartment'))}</td>
              <td>
                <Count value={requests} />
              </td>
              <td>
                <Money micro={cost} currency={statement.currency} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}
