import { Button, SegmentedControl } from '@mantine/core'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { useRead } from '../../api/queries.ts'
import { Icon } from '../../parts/icons.tsx'
import { Listing } from '../../parts/listing.tsx'
import { useListState } from '../../parts/list-state.ts'
import { Page } from '../../parts/page.tsx'
import { Pager } from '../../parts/pager.tsx'
import { useRowKeys } from '../../parts/row-keys.ts'
import { SearchField } from '../../parts/search-field.tsx'
import { Empty } from '../../parts/states.tsx'
import { Table } from '../../parts/table.tsx'
import type { Column } from '../../parts/table.tsx'
import { chosen } from '../../parts/url-state.ts'
import { Nothing } from '../../parts/values.tsx'
import { pathIn } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import type { PageProps } from '../page-props.ts'
import { Groups } from './groups.tsx'
import type { Model } from './model-calls.ts'
import { ModelPanel } from './model-panel.tsx'
import { NewModel } from './new-model.tsx'
import { Price, PriceSource } from './price.tsx'
import layout from '../../parts/layout.module.css'

const LIMIT = 50
const TABS = ['models', 'groups'] as const
const PRICES = ['all', 'known', 'unknown'] as const

/** The models that clients may ask for, with upstreams and prices. */
export function ModelsPage({ scope, open }: PageProps): ReactNode {
  const t = useWords('models')
  const state = useListState(pathIn(scope, '/models'), open)
  const tab = chosen(TABS, state.url.query.get('tab'))
  return (
    <Page
      title={t('title')}
      about={t('aboutPage')}
      acts={
        <Button component={Link} href={state.newHref} leftSection={<Icon name="plus" size={14} />}>
          {tab === 'models' ? t('create') : t('createGroup')}
        </Button>
      }
    >
      <div className={layout.tools}>
        <SegmentedControl
          aria-label={t('tabs.label')}
          value={tab}
          data={TABS.map((value) => ({ value, label: t(`tabs.${value}`) }))}
          onChange={(value) => {
            state.url.set({ tab: value === 'models' ? null : value, page: null, search: null, prices: null })
          }}
        />
        {tab === 'models' && <Filters state={state} />}
      </div>
      {tab === 'models' ? <ModelList scope={scope} state={state} /> : <Groups state={state} />}
    </Page>
  )
}

type State = ReturnType<typeof useListState>

function Filters({ state: { search, onSearch, url } }: { readonly state: State }): ReactNode {
  const t = useWords('models')
  return (
    <>
      <SearchField value={search} label={t('search')} placeholder={t('search')} onSearch={onSearch} />
      <SegmentedControl
        aria-label={t('columns.price')}
        value={chosen(PRICES, url.query.get('prices'))}
        data={PRICES.map((value) => ({ value, label: t(`filters.${value}`) }))}
        onChange={(value) => {
          url.set({ prices: value === 'all' ? null : value, page: null })
        }}
      />
    </>
  )
}

interface ModelListProps {
  readonly scope: PageProps['scope']
  readonly state: State
}

function ModelList({ scope, state }: ModelListProps): ReactNode {
  const t = useWords('models')
  const { url, page, search, openId, isNew, hrefOf, onOpen, close, onPage } = state
  const prices = chosen(PRICES, url.query.get('prices'))
  const list = useRead(
    'adminListModels',
    {
      query: {
        limit: LIMIT,
        page,
        ...(search === '' ? {} : { search }),
        ...(prices === 'all' ? {} : { prices }),
      },
    },
    { keepsOld: true },
  )
  useRowKeys({ ids: (list.data?.data ?? []).map(({ id }) => id), openId, onOpen })
  const columns: ReadonlyArray<Column<Model>> = [
    {
      id: 'id',
      head: t('columns.id'),
      width: 'minmax(170px, 2fr)',
      cell: ({ id }) => id,
    },
    {
      id: 'servedBy',
      head: t('columns.servedBy'),
      width: 'minmax(110px, 1.4fr)',
      cell: (model) => <ServedBy model={model} />,
    },
    {
      id: 'input',
      head: t('prices.input'),
      width: '84px',
      isNumber: true,
      onPhone: true,
      cell: (model) => <Price prices={model.prices} kind="input" />,
    },
    {
      id: 'output',
      head: t('prices.output'),
      width: '84px',
      isNumber: true,
      onPhone: true,
      cell: (model) => <Price prices={model.prices} kind="output" />,
    },
    {
      id: 'cached',
      head: t('prices.cached_input'),
      width: '84px',
      isNumber: true,
      cell: (model) => <Price prices={model.prices} kind="cached_input" />,
    },
    {
      id: 'written',
      head: t('prices.cache_write'),
      width: '88px',
      isNumber: true,
      cell: (model) => <Price prices={model.prices} kind="cache_write" />,
    },
    {
      id: 'tiers',
      head: t('columns.tiers'),
      width: '56px',
      isNumber: true,
      cell: ({ prices: known }) =>
        known === null ? <Nothing why={t('unknownPrice')} /> : known.long_prompts.length + 1,
    },
    {
      id: 'source',
      head: t('columns.priceSource'),
      width: '126px',
      cell: (model) => <PriceSource prices={model.prices} source={model.prices_source} />,
    },
  ]
  return (
    <>
      <p className={layout.note}>{t('perMillion')}</p>
      <Listing
        list={list}
        noMatch={search !== '' || prices !== 'all' ? t('noMatch') : null}
        onClear={() => {
          url.set({ search: null, prices: null, page: null })
        }}
        empty={<Empty icon="cube" title={t('empty')} text={t('emptyAbout')} />}
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
      {isNew && <NewModel onClose={close} onCreated={onOpen} />}
      {openId !== null && <ModelPanel scope={scope} id={openId} onClose={close} />}
    </>
  )
}

function ServedBy({ model: { deployments, alias_of: aliasOf, problem } }: { readonly model: Model }): ReactNode {
  const t = useWords('models')
  if (problem !== null) return <span title={problem}>{t('problem')}</span>
  if (aliasOf !== null) return t('aliasOf', { id: aliasOf })
  const names = [...new Set(deployments.map(({ upstream }) => upstream))]
  return names.length === 0 ? <Nothing why={t('unserved')} /> : names.join(', ')
}
