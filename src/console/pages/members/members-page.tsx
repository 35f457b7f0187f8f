import { Button } from '@mantine/core'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { useRead } from '../../api/queries.ts'
import { enterpriseIdOf } from '../../parts/enterprise.ts'
import { Icon } from '../../parts/icons.tsx'
import { pageOf, useLastPage } from '../../parts/last-page.ts'
import { Page } from '../../parts/page.tsx'
import { Pager } from '../../parts/pager.tsx'
import { useRowKeys } from '../../parts/row-keys.ts'
import { SearchField } from '../../parts/search-field.tsx'
import { Empty, Failed } from '../../parts/states.tsx'
import { TableSkeleton } from '../../parts/table.tsx'
import { useUrlState } from '../../parts/url-state.ts'
import { mayIn, pathIn } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import type { PageProps } from '../page-props.ts'
import { addressOf } from './invitation-acts.tsx'
import { InvitationPanel } from './invitation-panel.tsx'
import { InviteMembers } from './invite.tsx'
import { MemberPanel } from './member-panel.tsx'
import { MemberTable } from './member-table.tsx'
import type { Row } from './member-table.tsx'
import classes from '../../parts/form.module.css'

const LIMIT = 50
/** The most of one page of the API. */
const MAX_INVITATIONS = 100
const MIN_SEARCH = 2
/** Stands in the place of an id. */
const NEW = 'new'

export function MembersPage({ scope, open }: PageProps): ReactNode {
  const t = useWords('members')
  const common = useWords('common')
  const url = useUrlState()
  const search = url.query.get('search') ?? ''
  const page = pageOf(url.query)
  const canManage = mayIn(scope, 'members.manage')
  const params = { id: enterpriseIdOf(scope) }
  const list = useRead(
    'listMembers',
    { params, query: { limit: LIMIT, page, ...(search.length < MIN_SEARCH ? {} : { search }) } },
    { keepsOld: true },
  )
  const isBeyond = useLastPage(list.data)
  const invitations = useRead(
    'listInvitations',
    { params, query: { limit: MAX_INVITATIONS } },
    { isEnabled: canManage },
  )
  const waiting = (invitations.data?.data ?? []).filter(({ status }) => status === 'pending' || status === 'expired')
  const found = waiting.filter((one) => addressOf(one).toLowerCase().includes(search.toLowerCase()))
  const rows: readonly Row[] | undefined =
    list.data === undefined
      ? undefined
      : [
          ...(page === 1
            ? found.map((invitation) => ({ kind: 'invitation', id: invitation.id, invitation }) as const)
            : []),
          ...list.data.data.map((member) => ({ kind: 'member', id: member.id, member }) as const),
        ]
  const base = pathIn(scope, '/members')
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
  const openInvitation = waiting.find(({ id }) => id === open)
  const inviteButton = canManage && (
    <Button component={Link} href={url.at(`${base}/${NEW}`)} leftSection={<Icon name="plus" size={14} />}>
      {t('invite')}
    </Button>
  )
  return (
    <Page title={t('title')} about={t('about')} acts={inviteButton}>
      <div className={classes.tools}>
        <SearchField
          value={search}
          label={t('search')}
          placeholder={t('search')}
          width={300}
          onSearch={(text) => {
            url.set({ search: text, page: null }, 'replace')
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
        (search === '' ? (
          <Empty icon="person" title={t('empty')} text={t('emptyAbout')}>
            {inviteButton}
          </Empty>
        ) : (
          <Empty icon="search" title={t('noMatch')}>
            <Button
              variant="default"
              onClick={() => {
                url.set({ search: null, page: null })
              }}
            >
              {common('clearFilters')}
            </Button>
          </Empty>
        ))}
      {rows !== undefined && rows.length > 0 && (
        <>
          <MemberTable
            scope={scope}
            rows={rows}
            isOld={list.isPlaceholderData}
            openId={open}
            hrefOf={({ id }) => url.at(`${base}/${encodeURIComponent(id)}`)}
          />
          {rows.length === 1 && search === '' && canManage && (
            <p className="muted" style={{ padding: '16px 12px' }}>
              {t('alone')}
            </p>
          )}
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
      {open === NEW && canManage && <InviteMembers scope={scope} onClose={close} />}
      {openInvitation !== undefined && <InvitationPanel scope={scope} invitation={openInvitation} onClose={close} />}
      {isOpen && openInvitation === undefined && !invitations.isLoading && (
        <MemberPanel scope={scope} memberId={open} onClose={close} />
      )}
    </Page>
  )
}
