import { Button, SegmentedControl } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { ResultOf } from '../../../client/index.ts'
import { call } from '../../api/session.ts'
import { enterpriseIdOf } from '../../parts/enterprise.ts'
import { Facts } from '../../parts/facts.tsx'
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
import type { Delivery } from './alert-calls.ts'
import { DeliveryState } from './alert-state.tsx'
import classes from '../../parts/form.module.css'

const LIMIT = 50
const STATES = ['pending', 'held', 'delivered', 'failed', 'dropped'] as const

interface DeliveriesProps {
  readonly scope: Scope
  readonly open: string | null
}

/** Every message with what became of it; also those that were held or dropped. */
export function Deliveries({ scope, open }: DeliveriesProps): ReactNode {
  const t = useWords('alerts')
  const common = useWords('common')
  const url = useUrlState()
  const id = enterpriseIdOf(scope)
  const status = STATES.find((one) => one === url.query.get('status'))
  const alertId = url.query.get('alert')
  const query = {
    limit: LIMIT,
    ...(status === undefined ? {} : { status }),
    ...(alertId === null ? {} : { alert_id: alertId }),
  }
  const list = useInfiniteQuery({
    queryKey: ['listAlertDeliveries', id, query],
    initialPageParam: null as string | null,
    queryFn: ({ pageParam, signal }): Promise<ResultOf<'listAlertDeliveries'>> =>
      call(
        'listAlertDeliveries',
        { params: { id }, query: { ...query, ...(pageParam === null ? {} : { cursor: pageParam }) } },
        { signal },
      ),
    getNextPageParam: (last) => last.next_cursor,
  })
  const rows = list.data?.pages.flatMap(({ data }) => data)
  const base = pathIn(scope, '/alerts')
  useRowKeys({
    ids: (rows ?? []).map((row) => row.id),
    openId: open,
    onOpen: (next) => {
      url.go(`${base}/${encodeURIComponent(next)}`, open === null ? 'push' : 'replace')
    },
  })
  const opened = rows?.find((row) => row.id === open)
  const isFiltered = status !== undefined || alertId !== null
  const columns: ReadonlyArray<Column<Delivery>> = [
    { id: 'message', head: t('columns.message'), width: 'minmax(220px, 3fr)', cell: ({ message }) => message },
    {
      id: 'to',
      head: t('columns.to'),
      width: 'minmax(140px, 1.4fr)',
      onPhone: true,
      cell: ({ webhook, mail }) => <span title={webhook ?? mail ?? ''}>{webhook ?? mail}</span>,
    },
    {
      id: 'state',
      head: t('columns.outcome'),
      width: '112px',
      onPhone: 'plain',
      cell: (row) => <DeliveryState status={row.status} />,
    },
    {
      id: 'answer',
      head: t('columns.answer'),
      width: '96px',
      isNumber: true,
      cell: ({ response_status: code, error }) =>
        code === null ? <Nothing why={error ?? t('noAnswer')} /> : <span title={error ?? ''}>{code}</span>,
    },
    { id: 'at', head: t('columns.at'), width: '132px', cell: ({ created_at: at }) => <Time at={at} /> },
  ]
  const clear = (
    <Button
      variant="default"
      onClick={() => {
        url.set({ status: null, alert: null })
      }}
    >
      {common('clearFilters')}
    </Button>
  )
  return (
    <>
      <div className={classes.tools}>
        <SegmentedControl
          aria-label={t('columns.outcome')}
          value={status ?? 'all'}
          data={[
            { value: 'all', label: t('all') },
            ...STATES.map((value) => ({ value, label: t(`deliveryStates.${value}`) })),
          ]}
          onChange={(value) => {
            url.set({ status: value === 'all' ? null : value })
          }}
        />
        {alertId !== null && clear}
      </div>
      {rows === undefined && list.isError && (
        <Failed
          cause={list.error}
          retry={() => {
            void list.refetch()
          }}
        />
      )}
      {rows === undefined && list.isPending && <TableSkeleton label={common('loading')} />}
      {rows?.length === 0 &&
        (isFiltered ? (
          <Empty icon="search" title={t('noDeliveryMatch')}>
            {clear}
          </Empty>
        ) : (
          <Empty icon="bell" title={t('noDeliveries')} text={t('noDeliveriesAbout')} />
        ))}
      {rows !== undefined && rows.length > 0 && (
        <>
          <Table
            label={t('tabs.deliveries')}
            columns={columns}
            rows={rows}
            idOf={(row) => row.id}
            hrefOf={(row) => url.at(`${base}/${encodeURIComponent(row.id)}`)}
            openId={open}
          />
          <div style={{ display: 'flex', justifyContent: 'center', padding: '12px 0 24px' }}>
            {list.hasNextPage ? (
              <Button
                variant="default"
                loading={list.isFetchingNextPage}
                onClick={() => {
                  void list.fetchNextPage()
                }}
              >
                {t('older')}
              </Button>
            ) : (
              <span className="muted note">{t('end')}</span>
            )}
          </div>
        </>
      )}
      {opened !== undefined && (
        <DeliveryPanel
          delivery={opened}
          onClose={() => {
            url.go(base)
          }}
        />
      )}
    </>
  )
}

function DeliveryPanel({
  delivery,
  onClose,
}: {
  readonly delivery: Delivery
  readonly onClose: () => void
}): ReactNode {
  const t = useWords('alerts')
  const { webhook, mail, next_attempt_at: nextAt, ended_at: endedAt } = delivery
  return (
    <Panel title={t('delivery')} label={t('delivery')} onClose={onClose}>
      <Facts
        rows={[
          [t('columns.outcome'), <DeliveryState key="state" status={delivery.status} />],
          [t('columns.message'), delivery.message],
          [t('columns.to'), webhook ?? mail ?? ''],
          [t('attempts'), String(delivery.attempts)],
          [t('columns.answer'), delivery.response_status ?? <Nothing key="none" why={t('noAnswer')} />],
          ...(delivery.error === null ? [] : [[t('problem'), delivery.error] as const]),
          [t('columns.at'), <Time key="at" at={delivery.created_at} />],
          ...(nextAt === null ? [] : [[t('nextAttempt'), <Time key="next" at={nextAt} isRelative />] as const]),
          ...(endedAt === null ? [] : [[t('ended'), <Time key="ended" at={endedAt} />] as const]),
          [t('eventId'), <code key="event">{delivery.event_id}</code>],
        ]}
      />
    </Panel>
  )
}
