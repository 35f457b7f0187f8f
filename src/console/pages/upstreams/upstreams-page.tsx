import { Button } from '@mantine/core'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { useRead } from '../../api/queries.ts'
import { exact, percent } from '../../format/numbers.ts'
import { Icon } from '../../parts/icons.tsx'
import { Listing } from '../../parts/listing.tsx'
import { useListState } from '../../parts/list-state.ts'
import { LoadStrip } from '../../parts/load-strip.tsx'
import { Page } from '../../parts/page.tsx'
import { Pager } from '../../parts/pager.tsx'
import { useRowKeys } from '../../parts/row-keys.ts'
import { Slots } from '../../parts/slots.tsx'
import { Empty } from '../../parts/states.tsx'
import { Table } from '../../parts/table.tsx'
import type { Column } from '../../parts/table.tsx'
import { useLoad } from '../../parts/use-load.ts'
import { Count, Duration, Nothing, useLocale } from '../../parts/values.tsx'
import { pathIn } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import type { PageProps } from '../page-props.ts'
import { CreateUpstream } from './create-upstream.tsx'
import { sumsOf, workOf } from './upstream-calls.ts'
import type { Upstream, Work } from './upstream-calls.ts'
import { UpstreamPanel } from './upstream-panel.tsx'
import { UpstreamState } from './upstream-state.tsx'

const LIMIT = 100
const SUMS_EVERY_MS = 15_000

/** The hosts that serve models, their keys, and how they do at the moment. */
export function UpstreamsPage({ scope, open }: PageProps): ReactNode {
  const t = useWords('upstreams')
  const base = pathIn(scope, '/upstreams')
  const { url, page, openId, isNew, newHref, hrefOf, onOpen, close, onPage } = useListState(base, open)
  const list = useRead('adminListUpstreams', { query: { limit: LIMIT, page } }, { keepsOld: true })
  const relay = useRead('adminRelayStats', { query: { period: '24h' } }, { everyMs: SUMS_EVERY_MS, keepsOld: true })
  const load = useLoad()
  const rows = list.data?.data ?? []
  const workAt = (id: string): Work => workOf(id, load, relay.data?.upstream_keys ?? [])
  useRowKeys({ ids: rows.map(({ id }) => id), openId, onOpen })
  const add = (
    <Button component={Link} href={newHref} leftSection={<Icon name="plus" size={14} />}>
      {t('create')}
    </Button>
  )
  return (
    <Page title={t('title')} about={t('aboutPage')} acts={add}>
      <LoadStrip load={load} />
      <Listing
        list={list}
        noMatch={null}
        onClear={() => {
          url.set({ page: null })
        }}
        empty={
          <Empty icon="server" title={t('empty')} text={t('emptyAbout')}>
            {add}
          </Empty>
        }
      >
        {(shown) => (
          <>
            <UpstreamTable
              rows={shown}
              isOld={list.isPlaceholderData}
              openId={openId}
              workAt={workAt}
              hrefOf={({ id }) => hrefOf(id)}
            />
            <Pager page={page} limit={LIMIT} total={list.data?.total ?? 0} onPage={onPage} />
          </>
        )}
      </Listing>
      {isNew && <CreateUpstream onClose={close} onCreated={onOpen} />}
      {openId !== null && <UpstreamPanel scope={scope} id={openId} work={workAt(openId)} onClose={close} />}
    </Page>
  )
}

interface UpstreamTableProps {
  readonly rows: readonly Upstream[]
  readonly isOld: boolean
  readonly openId: string | null
  readonly workAt: (id: string) => Work
  readonly hrefOf: (upstream: Upstream) => string
}

function UpstreamTable({ rows, isOld, openId, workAt, hrefOf }: UpstreamTableProps): ReactNode {
  const t = useWords('upstreams')
  const locale = useLocale()
  const columns: ReadonlyArray<Column<Upstream>> = [
    { id: 'name', head: t('columns.name'), width: 'minmax(140px, 1.2fr)', cell: (row) => <Name shown={row} /> },
    {
      id: 'state',
      head: t('columns.state'),
      width: '120px',
      onPhone: 'plain',
      cell: (row) => <UpstreamState shown={row} work={workAt(row.id)} />,
    },
    {
      id: 'provider',
      head: t('columns.provider'),
      width: 'minmax(148px, 1fr)',
      cell: ({ provider, dialect }) => provider ?? dialect ?? <Nothing why={t('unknownSetting')} />,
    },
    {
      id: 'slots',
      head: t('columns.slots'),
      width: 'minmax(104px, 130px)',
      isNumber: true,
      onPhone: true,
      cell: (row) => {
        const { slotsUsed, slots } = sumsOf(row, workAt(row.id))
        if (slots === 0 && slotsUsed === 0) return <Nothing why={t('noSlots')} />
        return <Slots used={slotsUsed} of={slots} />
      },
    },
    {
      id: 'requests',
      head: t('columns.requests'),
      width: '92px',
      isNumber: true,
      cell: (row) => <Count value={sumsOf(row, workAt(row.id)).requests} />,
    },
    {
      id: 'errors',
      head: t('columns.errors'),
      width: '76px',
      isNumber: true,
      cell: (row) => {
        const { requests, errors } = sumsOf(row, workAt(row.id))
        if (requests === 0) return <Nothing why={t('noRequests')} />
        return <span title={exact(errors, locale)}>{percent(errors / requests, locale)}</span>
      },
    },
    {
      id: 'ttft',
      head: t('columns.ttft'),
      width: '84px',
      isNumber: true,
      cell: (row) => {
        const { ttftMs } = sumsOf(row, workAt(row.id))
        return ttftMs === null ? <Nothing why={t('noRequests')} /> : <Duration ms={ttftMs} />
      },
    },
    {
      id: 'source',
      head: t('columns.source'),
      width: '72px',
      cell: ({ source }) => <span className="muted">{t(`sources.${source}`)}</span>,
    },
  ]
  return (
    <Table
      label={t('title')}
      columns={columns}
      rows={rows}
      idOf={({ id }) => id}
      hrefOf={hrefOf}
      openId={openId}
      isOld={isOld}
    />
  )
}

/** The id comes first: several upstreams may have one name. */
function Name({ shown: { id, name } }: { readonly shown: Upstream }): ReactNode {
  return name === id ? (
    id
  ) : (
    <>
      {id}
      <span className="muted note" style={{ display: 'block' }}>
        {name}
      </span>
    </>
  )
}
