import { Button, SegmentedControl } from '@mantine/core'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { useRead } from '../../api/queries.ts'
import { enterpriseIdOf } from '../../parts/enterprise.ts'
import { Facts } from '../../parts/facts.tsx'
import { Icon } from '../../parts/icons.tsx'
import { JoinState } from '../../parts/join-state.tsx'
import { pageOf, useLastPage } from '../../parts/last-page.ts'
import { Page } from '../../parts/page.tsx'
import { Pager } from '../../parts/pager.tsx'
import { Panel } from '../../parts/panel.tsx'
import { useRowKeys } from '../../parts/row-keys.ts'
import { Empty, Failed } from '../../parts/states.tsx'
import { Table, TableSkeleton } from '../../parts/table.tsx'
import type { Column } from '../../parts/table.tsx'
import { useUrlState } from '../../parts/url-state.ts'
import { Nothing, Time } from '../../parts/values.tsx'
import { pathIn } from '../../shell/scope.ts'
import type { Scope } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import type { PageProps } from '../page-props.ts'
import { Approve, Reject } from './decide.tsx'
import type { JoinRequest } from './join-calls.ts'
import classes from '../../parts/form.module.css'

const LIMIT = 50
const STATES = ['pending', 'approved', 'rejected', 'cancelled'] as const

type Decision = { readonly kind: 'approve' | 'reject'; readonly request: JoinRequest }

export function JoinsPage({ scope, open }: PageProps): ReactNode {
  const t = useWords('joins')
  const common = useWords('common')
  const words = useWords('enterprise')
  const url = useUrlState()
  const [decision, setDecision] = useState<Decision | null>(null)
  const asked = url.query.get('state')
  const state = STATES.find((one) => one === asked) ?? 'pending'
  const page = pageOf(url.query)
  const list = useRead(
    'listJoinRequests',
    {
      params: { id: enterpriseIdOf(scope) },
      query: { limit: LIMIT, page, ...(asked === 'all' ? {} : { status: state }) },
    },
    { keepsOld: true },
  )
  const rows = list.data?.data
  const isBeyond = useLastPage(list.data)
  const base = pathIn(scope, '/joins')
  useRowKeys({
    ids: (rows ?? []).map(({ id }) => id),
    openId: open,
    onOpen: (id) => {
      url.go(`${base}/${encodeURIComponent(id)}`, open === null ? 'push' : 'replace')
    },
  })
  const opened = rows?.find(({ id }) => id === open)
  const columns: ReadonlyArray<Column<JoinRequest>> = [
    { id: 'name', head: t('columns.name'), width: 'minmax(120px, 1fr)', cell: ({ user }) => user.name },
    {
      id: 'phone',
      head: t('columns.phone'),
      width: '140px',
      onPhone: true,
      cell: ({ user }) => user.phone ?? <Nothing why={t('noPhone')} />,
    },
    {
      id: 'message',
      head: t('columns.message'),
      width: 'minmax(140px, 2fr)',
      onPhone: 'plain',
      cell: ({ message }) => message ?? <Nothing why={t('noMessage')} />,
    },
    {
      id: 'state',
      head: t('columns.state'),
      width: '112px',
      onPhone: 'plain',
      cell: ({ status }) => <JoinState status={status} />,
    },
    {
      id: 'asked',
      head: t('columns.asked'),
      width: '104px',
      cell: ({ created_at: at }) => <Time at={at} isRelative />,
    },
    {
      id: 'decide',
      head: t('columns.decide'),
      width: '176px',
      onPhone: 'plain',
      cell: (request) => (request.status === 'pending' ? <Decide request={request} onDecide={setDecision} /> : null),
    },
  ]
  return (
    <Page title={t('title')} about={t('about')}>
      <div className={classes.tools}>
        <SegmentedControl
          aria-label={t('columns.state')}
          value={asked === 'all' ? 'all' : state}
          data={[
            ...STATES.map((value) => ({ value, label: words(`joins.${value}`) })),
            { value: 'all', label: t('all') },
          ]}
          onChange={(value) => {
            url.set({ state: value === 'pending' ? null : value, page: null })
          }}
        />
      </div>
      {rows === undefined && list.isError && (
        <Failed
          cause={list.error}
          retry={() => {
            void list.refetch()
          }}
        />
      )}
      {((rows === undefined && list.isPending) || isBeyond) && <TableSkeleton label={common('loading')} />}
      {rows?.length === 0 &&
        !isBeyond &&
        (asked === null ? (
          <Empty icon="person" title={t('empty')} text={t('emptyAbout')} />
        ) : (
          <Empty icon="search" title={t('noMatch')}>
            <Button
              variant="default"
              onClick={() => {
                url.set({ state: null, page: null })
              }}
            >
              {common('clearFilters')}
            </Button>
          </Empty>
        ))}
      {rows !== undefined && rows.length > 0 && (
        <>
          <Table
            label={t('title')}
            columns={columns}
            rows={rows}
            idOf={({ id }) => id}
            hrefOf={({ id }) => url.at(`${base}/${encodeURIComponent(id)}`)}
            openId={open}
            isOld={list.isPlaceholderData}
          />
          <Pager
            page={page}
            limit={LIMIT}
            total={list.data?.total ?? 0}
            onPage={(next) => {
              url.set({ page: next === 1 ? null : String(next) })
            }}
          />
        </>
      )}
      {opened !== undefined && (
        <JoinPanel
          request={opened}
          onDecide={setDecision}
          onClose={() => {
            url.go(base)
          }}
        />
      )}
      <Dialogs
        scope={scope}
        decision={decision}
        onClose={() => {
          setDecision(null)
        }}
      />
    </Page>
  )
}

interface DialogsProps {
  readonly scope: Scope
  readonly decision: Decision | null
  readonly onClose: () => void
}

function Dialogs({ scope, decision, onClose }: DialogsProps): ReactNode {
  if (decision === null) return null
  const { kind, request } = decision
  return kind === 'approve' ? (
    <Approve scope={scope} request={request} onClose={onClose} />
  ) : (
    <Reject scope={scope} request={request} onClose={onClose} />
  )
}

interface DecideProps {
  readonly request: JoinRequest
  readonly onDecide: (decision: Decision) => void
}

function Decide({ request, onDecide }: DecideProps): ReactNode {
  const t = useWords('joins')
  const { name } = request.user
  return (
    // Above the link that covers the row.
    <span style={{ position: 'relative', zIndex: 1, display: 'inline-flex', gap: 8 }}>
      <Button
        size="xs"
        aria-label={t('approveOf', { name })}
        onClick={() => {
          onDecide({ kind: 'approve', request })
        }}
      >
        {t('approve')}
      </Button>
      <Button
        size="xs"
        variant="default"
        aria-label={t('rejectOf', { name })}
        onClick={() => {
          onDecide({ kind: 'reject', request })
        }}
      >
        {t('reject')}
      </Button>
    </span>
  )
}

function JoinPanel({ request, onDecide, onClose }: DecideProps & { readonly onClose: () => void }): ReactNode {
  const t = useWords('joins')
  const { user, message, status, reason, created_at: at } = request
  return (
    <Panel title={user.name} label={t('request')} onClose={onClose}>
      <Facts
        rows={[
          [t('columns.state'), <JoinState key="state" status={status} />],
          [t('columns.phone'), user.phone ?? <Nothing key="phone" why={t('noPhone')} />],
          [t('columns.asked'), <Time key="at" at={at} />],
          [t('columns.message'), message ?? <Nothing key="message" why={t('noMessage')} />],
          ...(reason === null ? [] : [[t('reason'), reason] as const]),
        ]}
      />
      {status === 'pending' && (
        <div className={classes.buttons}>
          <Button
            leftSection={<Icon name="check" size={14} />}
            onClick={() => {
              onDecide({ kind: 'approve', request })
            }}
          >
            {t('approve')}
          </Button>
          <Button
            variant="default"
            leftSection={<Icon name="cross" size={14} />}
            onClick={() => {
              onDecide({ kind: 'reject', request })
            }}
          >
            {t('reject')}
          </Button>
        </div>
      )}
    </Panel>
  )
}
