import { ActionIcon, Button, Menu } from '@mantine/core'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { useRead } from '../../api/queries.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { enterpriseIdOf } from '../../parts/enterprise.ts'
import { Facts } from '../../parts/facts.tsx'
import { useHolderNames } from '../../parts/holder-names.ts'
import { Icon } from '../../parts/icons.tsx'
import { SpendMeter } from '../../parts/meter.tsx'
import { Page } from '../../parts/page.tsx'
import { Pager } from '../../parts/pager.tsx'
import { Panel } from '../../parts/panel.tsx'
import { useRowKeys } from '../../parts/row-keys.ts'
import { SearchField } from '../../parts/search-field.tsx'
import { Empty, Failed } from '../../parts/states.tsx'
import { Table, TableSkeleton } from '../../parts/table.tsx'
import type { Column } from '../../parts/table.tsx'
import { toast } from '../../parts/toasts.tsx'
import { useUrlState } from '../../parts/url-state.ts'
import { told } from '../../parts/told.ts'
import { Nothing, Time } from '../../parts/values.tsx'
import { mayIn, pathIn } from '../../shell/scope.ts'
import type { Scope } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import type { PageProps } from '../page-props.ts'
import { InviteMembers, ResentInvitation } from './invite.tsx'
import { resendInvitation, revokeInvitation } from './member-calls.ts'
import type { Invitation, Invited, Member } from './member-calls.ts'
import { MemberPanel, RemoveMember, useMemberToggle } from './member-panel.tsx'
import { InvitationState, MemberState } from './member-state.tsx'
import classes from '../../parts/form.module.css'

const LIMIT = 50
/** The most of one page of the API. */
const MAX_INVITATIONS = 100
const MIN_SEARCH = 2
/** Stands in the place of an id. */
const NEW = 'new'

type Row =
  | { readonly kind: 'member'; readonly id: string; readonly member: Member }
  | { readonly kind: 'invitation'; readonly id: string; readonly invitation: Invitation }

export function MembersPage({ scope, open }: PageProps): ReactNode {
  const t = useWords('members')
  const common = useWords('common')
  const url = useUrlState()
  const search = url.query.get('search') ?? ''
  const page = Math.max(1, Number(url.query.get('page') ?? '1') || 1)
  const canManage = mayIn(scope, 'members.manage')
  const params = { id: enterpriseIdOf(scope) }
  const list = useRead(
    'listMembers',
    { params, query: { limit: LIMIT, page, ...(search.length < MIN_SEARCH ? {} : { search }) } },
    { keepsOld: true },
  )
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
      {rows === undefined && list.isPending && <TableSkeleton label={common('loading')} />}
      {rows?.length === 0 &&
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

function addressOf({ email, phone }: Invitation): string {
  return email ?? phone ?? ''
}

interface MemberTableProps {
  readonly scope: Scope
  readonly rows: readonly Row[]
  readonly isOld: boolean
  readonly openId: string | null
  readonly hrefOf: (row: Row) => string
}

function MemberTable({ scope, rows, isOld, openId, hrefOf }: MemberTableProps): ReactNode {
  const t = useWords('members')
  const common = useWords('common')
  const words = useWords('enterprise')
  const names = useHolderNames(scope)
  const [removing, setRemoving] = useState<Member | null>(null)
  const canManage = mayIn(scope, 'members.manage')
  const whole = (row: Row) => (row.kind === 'member' ? row.member : row.invitation)
  const columns: ReadonlyArray<Column<Row>> = [
    {
      id: 'name',
      head: t('columns.name'),
      width: 'minmax(160px, 2fr)',
      cell: (row) => (row.kind === 'member' ? row.member.user.name : addressOf(row.invitation)),
    },
    {
      id: 'phone',
      head: t('phone'),
      width: 'minmax(110px, 140px)',
      cell: (row) => {
        const phone = row.kind === 'member' ? row.member.user.phone : row.invitation.phone
        return phone === null ? <Nothing why={t('noPhone')} /> : <span className="muted">{phone}</span>
      },
    },
    {
      id: 'state',
      head: t('columns.state'),
      width: '104px',
      onPhone: 'plain',
      cell: (row) =>
        row.kind === 'member' ? (
          <MemberState status={row.member.status} />
        ) : (
          <InvitationState status={row.invitation.status} />
        ),
    },
    {
      id: 'role',
      head: words('role'),
      width: '96px',
      onPhone: true,
      cell: (row) => <span title={words(`roleAbout.${whole(row).role}`)}>{common(`roles.${whole(row).role}`)}</span>,
    },
    {
      id: 'department',
      head: words('department'),
      width: 'minmax(110px, 1.2fr)',
      cell: (row) => names.department(whole(row).department_id) ?? <Nothing why={t('noDepartment')} />,
    },
    {
      id: 'spend',
      head: t('columns.spend'),
      width: 'minmax(110px, 168px)',
      isNumber: true,
      onPhone: true,
      cell: (row) =>
        row.kind === 'member' ? <SpendMeter spend={row.member.spend} /> : <Nothing why={t('notYetMember')} />,
    },
    {
      id: 'since',
      head: t('columns.since'),
      width: '104px',
      cell: (row) => <Time at={whole(row).created_at} isRelative />,
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
        {...(canManage
          ? {
              actsOf: (row: Row) =>
                row.kind === 'member' ? (
                  <MemberMenu
                    scope={scope}
                    member={row.member}
                    onRemove={() => {
                      setRemoving(row.member)
                    }}
                  />
                ) : (
                  <InvitationMenu scope={scope} invitation={row.invitation} />
                ),
            }
          : {})}
      />
      {removing !== null && (
        <RemoveMember
          scope={scope}
          member={removing}
          onClose={() => {
            setRemoving(null)
          }}
          onRemoved={() => undefined}
        />
      )}
    </>
  )
}

interface MemberMenuProps {
  readonly scope: Scope
  readonly member: Member
  readonly onRemove: () => void
}

function MemberMenu({ scope, member, onRemove }: MemberMenuProps): ReactNode {
  const t = useWords('members')
  const words = useWords('enterprise')
  const toggle = useMemberToggle(scope)
  return (
    <Menu>
      <Menu.Target>
        <ActionIcon aria-label={t('actsOf', { name: member.user.name })}>
          <Icon name="more" />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item
          leftSection={<Icon name="power" size={14} />}
          onClick={() => {
            toggle(member)
          }}
        >
          {member.status === 'active' ? words('turnOff') : words('turnOn')}
        </Menu.Item>
        <Menu.Item leftSection={<Icon name="trash" size={14} />} color="bad" onClick={onRemove}>
          {t('remove')}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}

interface InvitationProps {
  readonly scope: Scope
  readonly invitation: Invitation
}

function InvitationMenu({ scope, invitation }: InvitationProps): ReactNode {
  const t = useWords('members')
  const acts = useInvitationActs(scope, invitation)
  return (
    <>
      <Menu>
        <Menu.Target>
          <ActionIcon aria-label={t('actsOf', { name: addressOf(invitation) })}>
            <Icon name="more" />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item leftSection={<Icon name="refresh" size={14} />} onClick={acts.resend}>
            {t('resend')}
          </Menu.Item>
          <Menu.Item leftSection={<Icon name="trash" size={14} />} color="bad" onClick={acts.revoke}>
            {t('revoke')}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {acts.dialog}
    </>
  )
}

function useInvitationActs(scope: Scope, invitation: Invitation) {
  const t = useWords('members')
  const [sent, setSent] = useState<Invited | null>(null)
  const [isRevoking, setIsRevoking] = useState(false)
  const id = enterpriseIdOf(scope)
  return {
    resend: () => {
      told(resendInvitation(id, invitation.id).then(setSent))
    },
    revoke: () => {
      setIsRevoking(true)
    },
    dialog: (
      <>
        {sent !== null && (
          <ResentInvitation
            sent={sent}
            onClose={() => {
              setSent(null)
            }}
          />
        )}
        {isRevoking && (
          <Confirm
            title={t('revokeTitle', { address: addressOf(invitation) })}
            act={t('revoke')}
            onClose={() => {
              setIsRevoking(false)
            }}
            onConfirm={async () => {
              await revokeInvitation(id, invitation.id)
              toast('good', t('revoked', { address: addressOf(invitation) }))
            }}
          >
            <p>{t('revokeAbout')}</p>
          </Confirm>
        )}
      </>
    ),
  }
}

function InvitationPanel({
  scope,
  invitation,
  onClose,
}: InvitationProps & { readonly onClose: () => void }): ReactNode {
  const t = useWords('members')
  const common = useWords('common')
  const words = useWords('enterprise')
  const names = useHolderNames(scope)
  const acts = useInvitationActs(scope, invitation)
  return (
    <Panel title={addressOf(invitation)} label={t('invitation')} onClose={onClose}>
      <Facts
        rows={[
          [t('columns.state'), <InvitationState key="state" status={invitation.status} />],
          [words('role'), `${common(`roles.${invitation.role}`)}: ${words(`roleAbout.${invitation.role}`)}`],
          [
            words('department'),
            names.department(invitation.department_id) ?? <Nothing key="none" why={t('noDepartment')} />,
          ],
          [t('invitedAt'), <Time key="at" at={invitation.created_at} />],
          [t('until'), <Time key="until" at={invitation.expires_at} />],
        ]}
      />
      <div className={classes.buttons}>
        <Button variant="default" leftSection={<Icon name="refresh" size={14} />} onClick={acts.resend}>
          {t('resend')}
        </Button>
        <Button variant="default" leftSection={<Icon name="trash" size={14} />} onClick={acts.revoke}>
          {t('revoke')}
        </Button>
      </div>
      <p className="muted note">{t('resendAbout')}</p>
      {acts.dialog}
    </Panel>
  )
}
