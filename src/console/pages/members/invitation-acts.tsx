import { ActionIcon, Menu } from '@mantine/core'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { Confirm } from '../../parts/confirm.tsx'
import { enterpriseIdOf } from '../../parts/enterprise.ts'
import { Icon } from '../../parts/icons.tsx'
import { toast } from '../../parts/toasts.tsx'
import { told } from '../../parts/told.ts'
import type { Scope } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import { ResentInvitation } from './invite.tsx'
import { resendInvitation, revokeInvitation } from './member-calls.ts'
import type { Invitation, Invited } from './member-calls.ts'

export function addressOf({ email, phone }: Invitation): string {
  return email ?? phone ?? ''
}

interface InvitationActs {
  readonly resend: () => void
  readonly revoke: () => void
  readonly dialog: ReactNode
}

export interface InvitationProps {
  readonly scope: Scope
  readonly invitation: Invitation
}

export function InvitationMenu({ scope, invitation }: InvitationProps): ReactNode {
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

/** Sending an invitation again and taking it back, with the dialogs of both. */
export function useInvitationActs(scope: Scope, invitation: Invitation): InvitationActs {
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
