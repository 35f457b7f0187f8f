import { Button } from '@mantine/core'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { useRead } from '../../api/queries.ts'
import { Badge } from '../../parts/badge.tsx'
import { Icon } from '../../parts/icons.tsx'
import { Listing } from '../../parts/listing.tsx'
import { useListState } from '../../parts/list-state.ts'
import { Page } from '../../parts/page.tsx'
import { Pager } from '../../parts/pager.tsx'
import { useRowKeys } from '../../parts/row-keys.ts'
import { Empty } from '../../parts/states.tsx'
import { Table } from '../../parts/table.tsx'
import type { Column } from '../../parts/table.tsx'
import { Count, Nothing } from '../../parts/values.tsx'
import { pathIn } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import type { PageProps } from '../page-props.ts'
import { NewServer } from './new-server.tsx'
import { ServerPanel } from './server-panel.tsx'
import { ServerState } from './server-state.tsx'
import type { ToolServer } from './tool-calls.ts'

const LIMIT = 50

/** The servers whose tools are offered, and which of their tools are allowed. */
export function ToolsPage({ scope, open }: PageProps): ReactNode {
  const t = useWords('tools')
  const { url, page, openId, isNew, newHref, hrefOf, onOpen, close, onPage } = useListState(
    pathIn(scope, '/tools'),
    open,
  )
  const list = useRead('adminListToolServers', { query: { limit: LIMIT, page } }, { keepsOld: true })
  useRowKeys({ ids: (list.data?.data ?? []).map(({ id }) => id), openId, onOpen })
  const columns: ReadonlyArray<Column<ToolServer>> = [
    { id: 'id', head: t('columns.id'), width: 'minmax(110px, 1fr)', cell: ({ id }) => id },
    {
      id: 'state',
      head: t('columns.state'),
      width: '120px',
      onPhone: 'plain',
      cell: ({ state }) => <ServerState state={state} />,
    },
    {
      id: 'url',
      head: t('columns.url'),
      width: 'minmax(140px, 2fr)',
      cell: ({ url: address }) => address ?? <Nothing why={t('program')} />,
    },
    {
      id: 'allowed',
      head: t('columns.allowed'),
      width: '84px',
      isNumber: true,
      onPhone: true,
      cell: ({ tools }) => <Count value={tools.allowed} />,
    },
    {
      id: 'decide',
      head: t('columns.decide'),
      width: '120px',
      cell: ({ tools: { held, waiting } }) =>
        held + waiting === 0 ? (
          <span className="muted">{t('nothingToDecide')}</span>
        ) : (
          <Badge tone={held > 0 ? 'bad' : 'warn'} icon="alert">
            {t('toDecide', { tools: held + waiting })}
          </Badge>
        ),
    },
    {
      id: 'source',
      head: t('columns.source'),
      width: '96px',
      cell: ({ source }) => <span className="muted">{t(`sources.${source}`)}</span>,
    },
  ]
  const add = (
    <Button component={Link} href={newHref} leftSection={<Icon name="plus" size={14} />}>
      {t('create')}
    </Button>
  )
  return (
    <Page title={t('title')} about={t('aboutPage')} acts={add}>
      <Listing
        list={list}
        noMatch={null}
        onClear={() => {
          url.set({ page: null })
        }}
        empty={
          <Empty icon="tool" title={t('empty')} text={t('emptyAbout')}>
            {add}
          </Empty>
        }
      >
        {(rows) => (
          <>
            <Table
              label={t('title')}
              columns={columns}
              rows={rows}
              idOf={({ id }) => id}
              hrefOf={({ id }) => hrefOf(id)}
              openId={openId}
              isOld={list.isPlaceholderData}
            />
            <Pager page={page} limit={LIMIT} total={list.data?.total ?? 0} onPage={onPage} />
          </>
        )}
      </Listing>
      {isNew && <NewServer onClose={close} onCreated={onOpen} />}
      {openId !== null && <ServerPanel id={openId} onClose={close} />}
    </Page>
  )
}
