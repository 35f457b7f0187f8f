import { Button, SegmentedControl } from '@mantine/core'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { useRead } from '../../api/queries.ts'
import { Icon } from '../../parts/icons.tsx'
import { Listing } from '../../parts/listing.tsx'
import { useListState } from '../../parts/list-state.ts'
import { SpendMeter } from '../../parts/meter.tsx'
import { Page } from '../../parts/page.tsx'
import { Pager } from '../../parts/pager.tsx'
import { useRowKeys } from '../../parts/row-keys.ts'
import { SearchField } from '../../parts/search-field.tsx'
import { Empty } from '../../parts/states.tsx'
import { Table } from '../../parts/table.tsx'
import type { Column } from '../../parts/table.tsx'
import { chosen } from '../../parts/url-state.ts'
import { Money, Nothing, Time } from '../../parts/values.tsx'
import { pathIn } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import type { PageProps } from '../page-props.ts'
import type { Enterprise } from './enterprise-calls.ts'
import { EnterprisePanel } from './enterprise-panel.tsx'
import { EnterpriseState } from './enterprise-state.tsx'
import { NewEnterprise } from './new-enterprise.tsx'
import layout from '../../parts/layout.module.css'

const LIMIT = 50
const STATES = ['all', 'active', 'disabled', 'deleted'] as const
/** The gateway searches from two characters on. */
const MIN_SEARCH = 2

/** All tenants of the platform. */
export function EnterprisesPage({ scope, open }: PageProps): ReactNode {
  const t = useWords('enterprises')
  const state = useListState(pathIn(scope, '/enterprises'), open)
  const { url, page, search, openId, isNew, newHref, hrefOf, onOpen, close, onSearch, onPage } = state
  const status = chosen(STATES, url.query.get('state'))
  const list = useRead(
    'adminListEnterprises',
    {
      query: {
        limit: LIMIT,
        page,
        ...(search.length < MIN_SEARCH ? {} : { search }),
        ...(status === 'all' ? {} : { status }),
      },
    },
    { keepsOld: true },
  )
  useRowKeys({ ids: (list.data?.data ?? []).map(({ id }) => id), openId, onOpen })
  const columns: ReadonlyArray<Column<Enterprise>> = [
    { id: 'name', head: t('columns.name'), width: 'minmax(150px, 2fr)', cell: ({ name }) => name },
    {
      id: 'state',
      head: t('columns.state'),
      width: '104px',
      onPhone: 'plain',
      cell: ({ status: shown }) => <EnterpriseState status={shown} />,
    },
    {
      id: 'pays',
      head: t('columns.pays'),
      width: '104px',
      cell: ({ is_prepaid: isPrepaid }) => <span className="muted">{t(isPrepaid ? 'prepaid' : 'postpaid')}</span>,
    },
    {
      id: 'spend',
      head: t('columns.spend'),
      width: 'minmax(120px, 180px)',
      isNumber: true,
      onPhone: true,
      cell: ({ spend, currency }) => <SpendMeter spend={spend} currency={currency} />,
    },
    {
      id: 'cap',
      head: t('columns.cap'),
      width: '116px',
      isNumber: true,
      cell: ({ platform_monthly_budget: cap, currency }) =>
        cap === null ? <Nothing why={t('noCap')} /> : <Money micro={cap} currency={currency} />,
    },
    {
      id: 'zone',
      head: t('columns.zone'),
      width: 'minmax(110px, 1fr)',
      cell: ({ time_zone: zone }) => <span className="muted">{zone}</span>,
    },
    {
      id: 'created',
      head: t('columns.created'),
      width: '104px',
      cell: ({ created_at: at }) => <Time at={at} isRelative />,
    },
  ]
  const add = (
    <Button component={Link} href={newHref} leftSection={<Icon name="plus" size={14} />}>
      {t('create')}
    </Button>
  )
  return (
    <Page title={t('title')} about={t('aboutPage')} acts={add}>
      <div className={layout.tools}>
        <SearchField value={search} label={t('search')} placeholder={t('search')} onSearch={onSearch} />
        <SegmentedControl
          aria-label={t('columns.state')}
          value={status}
          data={STATES.map((value) => ({ value, label: t(`filters.${value}`) }))}
          onChange={(value) => {
            url.set({ state: value === 'all' ? null : value, page: null })
          }}
        />
      </div>
      <Listing
        list={list}
        noMatch={search !== '' || status !== 'all' ? t('noMatch') : null}
        onClear={() => {
          url.set({ search: null, state: null, page: null })
        }}
        empty={
          <Empty icon="building" title={t('empty')} text={t('emptyAbout')}>
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
      {isNew && <NewEnterprise onClose={close} onCreated={onOpen} />}
      {openId !== null && <EnterprisePanel id={openId} onClose={close} />}
    </Page>
  )
}
