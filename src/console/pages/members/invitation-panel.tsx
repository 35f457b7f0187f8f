import { Button } from '@mantine/core'
import type { ReactNode } from 'react'
import { Facts } from '../../parts/facts.tsx'
import { useHolderNames } from '../../parts/holder-names.ts'
import { Icon } from '../../parts/icons.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Nothing, Time } from '../../parts/values.tsx'
import { useWords } from '../../words/index.ts'
import { addressOf, useInvitationActs } from './invitation-acts.tsx'
import type { InvitationProps } from './invitation-acts.tsx'
import { InvitationState } from './member-state.tsx'
import classes from '../../parts/form.module.css'

export function InvitationPanel({
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
