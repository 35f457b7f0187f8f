import { ActionIcon, Menu } from '@mantine/core'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { useHolderNames } from '../../parts/holder-names.ts'
import { Icon } from '../../parts/icons.tsx'
import { SpendMeter } from '../../parts/meter.tsx'
import { Table } from '../../parts/table.tsx'
import type { Column } from '../../parts/table.tsx'
import { Nothing, Time } from '../../parts/values.tsx'
import { mayIn } from '../../shell/scope.ts'
import type { Scope } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import { addressOf, InvitationMenu } from './invitation-acts.tsx'
import type { Invitation, Member } from './member-calls.ts'
import { RemoveMember, useMemberToggle } from './member-panel.tsx'
import { InvitationState, MemberState } from './member-state.tsx'

export type Row =
  | { readonly kind: 'member'; readonly id: string; readonly member: Member }
  | { readonly kind: 'invitation'; readonly id: string; readonly invitation: Invitation }

interface MemberTableProps {
  readonly scope: Scope
  readonly rows: readonly Row[]
  readonly isOld: boolean
  readonly openId: string | null
  readonly hrefOf: (row: Row) => string
}

/** Members and those who are invited, in one list. */
export function MemberTable({ scope, rows, isOld, openId, hrefOf }: MemberTableProps): ReactNode {
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
