import { ActionIcon, Button, Menu, SegmentedControl } from '@mantine/core'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { useHolderNames } from '../../parts/holder-names.ts'
import { Icon } from '../../parts/icons.tsx'
import { SpendMeter } from '../../parts/meter.tsx'
import { pageOf, useLastPage } from '../../parts/last-page.ts'
import { Page } from '../../parts/page.tsx'
import { Pager } from '../../parts/pager.tsx'
import { SearchField } from '../../parts/search-field.tsx'
import { Empty, Failed } from '../../parts/states.tsx'
import { Table, TableSkeleton } from '../../parts/table.tsx'
import type { Column } from '../../parts/table.tsx'
import { toast } from '../../parts/toasts.tsx'
import { useUrlState } from '../../parts/url-state.ts'
import { Nothing, Time, TimeOr } from '../../parts/values.tsx'
import { useRowKeys } from '../../parts/row-keys.ts'
import { mayIn, pathIn } from '../../shell/scope.ts'
import type { Scope } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import type { PageProps } from '../page-props.ts'
import { CreateKey } from './create-key.tsx'
import { useKeyList } from './key-calls.ts'
import type { AnyKey, KeyQuery } from './key-calls.ts'
import { DeleteKey, KeyPanel } from './key-panel.tsx'
import { KeyState } from './key-state.tsx'
import { useToggle } from './use-toggle.ts'
import classes from './keys-page.module.css'

const LIMIT = 50
const SORTS = ['created', 'name', 'last_used'] as const
/** Stands in the place of an id. */
const NEW = 'new'

export function KeysPage({ scope, open }: PageProps): ReactNode {
  const t = useWords('keys')
  const common = useWords('common')
  const url = useUrlState()
  const state = url.query.get('state') ?? 'all'
  const search = url.query.get('search') ?? ''
  const sort = SORTS.find((one) => one === url.query.get('sort')) ?? 'created'
  const page = pageOf(url.query)
  const query: KeyQuery = {
    limit: LIMIT,
    page,
    sort,
    ...(search === '' ? {} : { search }),
    ...(state === 'on' || state === 'off' ? { enabled: state === 'on' } : {}),
  }
  const list = useKeyList(scope, query)
  const rows = list.data?.data
  const isBeyond = useLastPage(list.data)
  const canManage = mayIn(scope, 'keys.manage')
  const base = pathIn(scope, '/keys')
  const close = (): void => {
    url.go(base)
  }
  const isOpen = open !== null && open !== NEW
  useRowKeys({
    ids: (rows ?? []).map(({ id }) => id),
    openId: isOpen ? open : null,
    onOpen: (id) => {
      url.go(`${base}/${encodeURIComponent(id)}`, isOpen ? 'replace' : 'push')
    },
  })
  const isFiltered = search !== '' || state !== 'all'
  return (
    <Page
      title={t('title')}
      about={scope.kind === 'enterprise' ? t('aboutEnterprise') : t('aboutOwn')}
      acts={
        canManage && (
          <Button component={Link} href={url.at(`${base}/${NEW}`)} leftSection={<Icon name="plus" size={14} />}>
            {t('create')}
          </Button>
        )
      }
    >
      <div className={classes.tools}>
        <SearchField
          value={search}
          label={t('search')}
          placeholder={t('search')}
          onSearch={(text) => {
            url.set({ search: text, page: null }, 'replace')
          }}
        />
        <SegmentedControl
          aria-label={t('columns.state')}
          value={state}
          data={(['all', 'on', 'off'] as const).map((value) => ({ value, label: t(`filters.${value}`) }))}
          onChange={(value) => {
            url.set({ state: value === 'all' ? null : value, page: null })
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
        (isFiltered ? (
          <Empty icon="search" title={t('noMatch')}>
            <Button
              variant="default"
              onClick={() => {
                url.set({ search: null, state: null, page: null })
              }}
            >
              {common('clearFilters')}
            </Button>
          </Empty>
        ) : (
          <Empty icon="key" title={t('empty')} text={t('emptyAbout')}>
            {canManage && (
              <Button component={Link} href={url.at(`${base}/${NEW}`)} leftSection={<Icon name="plus" size={14} />}>
                {t('create')}
              </Button>
            )}
          </Empty>
        ))}
      {rows !== undefined && rows.length > 0 && (
        <>
          <KeyTable
            scope={scope}
            rows={rows}
            isOld={list.isPlaceholderData}
            openId={open}
            sort={sort}
            onSort={(value) => {
              url.set({ sort: value === 'created' ? null : value, page: null })
            }}
            hrefOf={({ id }) => url.at(`${base}/${encodeURIComponent(id)}`)}
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
      {open === NEW && canManage && <CreateKey scope={scope} onClose={close} />}
      {isOpen && <KeyPanel scope={scope} keyId={open} onClose={close} />}
    </Page>
  )
}

interface KeyTableProps {
  readonly scope: Scope
  readonly rows: readonly AnyKey[]
  readonly isOld: boolean
  readonly openId: string | null
  readonly sort: string
  readonly onSort: (value: string) => void
  readonly hrefOf: (key: AnyKey) => string
}

function KeyTable({ scope, rows, isOld, openId, sort, onSort, hrefOf }: KeyTableProps): ReactNode {
  const t = useWords('keys')
  const [deleting, setDeleting] = useState<AnyKey | null>(null)
  const holderOf = useHolders(scope)
  const canManage = mayIn(scope, 'keys.manage')
  const columns: ReadonlyArray<Column<AnyKey>> = [
    { id: 'name', head: t('columns.name'), width: 'minmax(150px, 2fr)', sort: 'name', cell: ({ name }) => name },
    {
      id: 'key',
      head: t('columns.key'),
      width: 'minmax(104px, 132px)',
      cell: ({ key_masked: masked }) => <code className="muted">{masked}</code>,
    },
    {
      id: 'state',
      head: t('columns.state'),
      width: '124px',
      onPhone: 'plain',
      cell: (key) => <KeyState shown={key} />,
    },
    ...(scope.kind === 'enterprise'
      ? [{ id: 'holder', head: t('columns.holder'), width: 'minmax(110px, 1.2fr)', cell: holderOf }]
      : []),
    {
      id: 'spend',
      head: t('columns.spend'),
      width: 'minmax(110px, 168px)',
      onPhone: true,
      isNumber: true,
      cell: ({ spend }) => <SpendMeter spend={spend} />,
    },
    {
      id: 'used',
      head: t('columns.lastUsed'),
      width: '104px',
      sort: 'last_used',
      cell: ({ last_used_at: at }) => <TimeOr at={at} why={t('neverUsed')} isRelative />,
    },
    {
      id: 'created',
      head: t('columns.created'),
      width: '104px',
      sort: 'created',
      cell: ({ created_at: at }) => <Time at={at} isRelative />,
    },
  ]
  return (
    <>
      <Table
        label={t('title')}
        columns={columns}
        rows={rows}
        idOf={({ id }) => id}
        hrefOf={hrefOf}
        openId={openId}
        isOld={isOld}
        sort={{ value: sort, onSort }}
        {...(canManage
          ? {
              actsOf: (key: AnyKey) => (
                <KeyMenu
                  scope={scope}
                  shown={key}
                  onDelete={() => {
                    setDeleting(key)
                  }}
                />
              ),
            }
          : {})}
      />
      {deleting !== null && (
        <DeleteKey
          scope={scope}
          shown={deleting}
          onClose={() => {
            setDeleting(null)
          }}
          onDeleted={() => {
            toast('good', t('deleted', { name: deleting.name }))
          }}
        />
      )}
    </>
  )
}

interface KeyMenuProps {
  readonly scope: Scope
  readonly shown: AnyKey
  readonly onDelete: () => void
}

function KeyMenu({ scope, shown, onDelete }: KeyMenuProps): ReactNode {
  const t = useWords('keys')
  const toggle = useToggle(scope)
  return (
    <Menu>
      <Menu.Target>
        <ActionIcon aria-label={t('actsOf', { name: shown.name })}>
          <Icon name="more" />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item
          leftSection={<Icon name="power" size={14} />}
          onClick={() => {
            toggle(shown)
          }}
        >
          {shown.enabled ? t('turnOff') : t('turnOn')}
        </Menu.Item>
        <Menu.Item leftSection={<Icon name="trash" size={14} />} color="bad" onClick={onDelete}>
          {t('delete')}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}

/** Names the member of a key, otherwise its department. */
function useHolders(scope: Scope): (key: AnyKey) => ReactNode {
  const t = useWords('keys')
  const names = useHolderNames(scope)
  return ({ member_id: memberId, department_id: departmentId }) => {
    const named = [names.member(memberId), names.department(departmentId)].filter((one) => one !== null)
    return named.length === 0 ? <Nothing why={t('noHolder')} /> : named.join(' · ')
  }
}
