import { Button, SegmentedControl } from '@mantine/core'
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
import { SearchField } from '../../parts/search-field.tsx'
import { Empty } from '../../parts/states.tsx'
import { Table } from '../../parts/table.tsx'
import type { Column } from '../../parts/table.tsx'
import { chosen } from '../../parts/url-state.ts'
import { Nothing, Time } from '../../parts/values.tsx'
import { pathIn, useAccount } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import type { PageProps } from '../page-props.ts'
import { NewUser } from './new-user.tsx'
import type { User } from './user-calls.ts'
import { UserPanel } from './user-panel.tsx'
import { UserState } from './user-state.tsx'
import layout from '../../parts/layout.module.css'

const LIMIT = 50
const STATES = ['all', 'active', 'disabled', 'deleted'] as const
/** The gateway searches from two characters on. */
const MIN_SEARCH = 2

/** Everybody who has an account. */
export function UsersPage({ scope, open }: PageProps): ReactNode {
  const t = useWords('users')
  const account = useAccount()
  const state = useListState(pathIn(scope, '/users'), open)
  const { url, page, search, openId, isNew, newHref, hrefOf, onOpen, close, onSearch, onPage } = state
  const status = chosen(STATES, url.query.get('state'))
  const list = useRead(
    'adminListUsers',
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
  const columns: ReadonlyArray<Column<User>> = [
    {
      id: 'name',
      head: t('columns.name'),
      width: 'minmax(140px, 1.6fr)',
      cell: ({ id, name }) => (id === account.id ? t('you', { name }) : name),
    },
    {
      id: 'state',
      head: t('columns.state'),
      width: '104px',
      onPhone: 'plain',
      cell: ({ status: shown }) => <UserState status={shown} />,
    },
    {
      id: 'role',
      head: t('columns.role'),
      width: '132px',
      cell: ({ role }) =>
        role === 'admin' ? (
          <Badge tone="accent" icon="shield">
            {t('roles.admin')}
          </Badge>
        ) : (
          <span className="muted">{t('roles.user')}</span>
        ),
    },
    {
      id: 'phone',
      head: t('columns.phone'),
      width: 'minmax(120px, 1fr)',
      onPhone: true,
      cell: ({ phone }) => phone ?? <Nothing why={t('noPhone')} />,
    },
    {
      id: 'email',
      head: t('columns.email'),
      width: 'minmax(140px, 1.4fr)',
      cell: ({ email }) => email ?? <Nothing why={t('noEmail')} />,
    },
    {
      id: 'created',
      head: t('columns.created'),
      width: '112px',
      cell: ({ created_at: at }) => <Time at={at} isRelative />,
    },
  ]
  return (
    <Page
      title={t('title')}
      about={t('aboutPage')}
      acts={
        <Button component={Link} href={newHref} leftSection={<Icon name="plus" size={14} />}>
          {t('create')}
        </Button>
      }
    >
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
        noMatch={t('noMatch')}
        onClear={() => {
          url.set({ search: null, state: null, page: null })
        }}
        empty={<Empty icon="people" title={t('noMatch')} />}
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
      {isNew && <NewUser onClose={close} onCreated={onOpen} />}
      {openId !== null && <UserPanel scope={scope} id={openId} onClose={close} />}
    </Page>
  )
}
