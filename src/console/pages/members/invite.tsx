import { Button, Modal, TagsInput } from '@mantine/core'
import { useState } from 'react'
import type { FormEvent, ReactNode } from 'react'
import { failureOf } from '../../api/failures.ts'
import { refresh } from '../../api/queries.ts'
import type { Role } from '../../api/rights.ts'
import { Badge } from '../../parts/badge.tsx'
import { CopyButton } from '../../parts/copy.tsx'
import { enterpriseIdOf } from '../../parts/enterprise.ts'
import { FormEnd } from '../../parts/form-end.tsx'
import { Icon } from '../../parts/icons.tsx'
import { DepartmentSelect, RoleSelect } from '../../parts/member-fields.tsx'
import { useSubmission } from '../../parts/submission.ts'
import type { Scope } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import { invitationLink } from './invitation-link.ts'
import { invite } from './member-calls.ts'
import type { Invited } from './member-calls.ts'
import classes from '../../parts/form.module.css'

const MAX_ADDRESSES = 50

interface InviteProps {
  readonly scope: Scope
  readonly onClose: () => void
}

/** Invites one address or many with the same role; those that fail stay in the field, with the reason. */
export function InviteMembers({ scope, onClose }: InviteProps): ReactNode {
  const t = useWords('members')
  const common = useWords('common')
  const words = useWords('enterprise')
  const act = useSubmission()
  const [addresses, setAddresses] = useState<readonly string[]>([])
  const [error, setError] = useState<string | null>(null)
  const [role, setRole] = useState<Role>('employee')
  const [departmentId, setDepartmentId] = useState('')
  const [sent, setSent] = useState<readonly Invited[]>([])
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault()
    setError(addresses.length === 0 ? t('addressMissing') : null)
    if (addresses.length === 0) return
    await act.run(async () => {
      const left: string[] = []
      const made: Invited[] = []
      const reasons = new Set<string>()
      let failed: Error | null = null
      for (const address of addresses) {
        const to = address.includes('@') ? { email: address } : { phone: address }
        try {
          made.push(
            await invite(enterpriseIdOf(scope), {
              ...to,
              role,
              department_id: departmentId === '' ? null : departmentId,
            }),
          )
        } catch (cause) {
          left.push(address)
          const { field, detail, title } = failureOf(cause)
          if (field === 'email' || field === 'phone') reasons.add(detail ?? title)
          else failed = cause instanceof Error ? cause : new Error(String(cause))
        }
      }
      setAddresses(left)
      setSent([...sent, ...made])
      setError(reasons.size === 0 ? null : [...reasons].join(' '))
      await refresh('listInvitations')
      if (failed !== null) throw failed
    })
  }
  const isDone = sent.length > 0 && addresses.length === 0
  return (
    <Modal
      opened
      onClose={onClose}
      title={isDone ? t('invited') : t('invite')}
      size={560}
      closeOnClickOutside={false}
      closeOnEscape={sent.length === 0}
      closeButtonProps={{ 'aria-label': common('close') }}
    >
      <div className={`${classes.form} ${classes.wide}`}>
        {sent.length > 0 && <SentInvitations sent={sent} />}
        {isDone ? (
          <div className={classes.acts}>
            <Button variant="default" onClick={onClose}>
              {t('done')}
            </Button>
          </div>
        ) : (
          <form
            className={`${classes.form} ${classes.wide}`}
            noValidate
            onSubmit={(event) => {
              void submit(event)
            }}
          >
            <TagsInput
              label={t('addresses')}
              description={t('addressesHint')}
              value={[...addresses]}
              error={error}
              maxTags={MAX_ADDRESSES}
              splitChars={[',', ';', ' ', '\n']}
              acceptValueOnBlur
              data-autofocus
              onChange={(value) => {
                setAddresses(addressesIn(value))
                setError(null)
              }}
            />
            <RoleSelect scope={scope} value={role} onChange={setRole} />
            <DepartmentSelect
              scope={scope}
              label={words('department')}
              none={words('noDepartment')}
              value={departmentId}
              onChange={setDepartmentId}
            />
            <FormEnd cause={act.cause}>
              <Button variant="default" onClick={onClose}>
                {common('cancel')}
              </Button>
              <Button type="submit" loading={act.isBusy}>
                {t('invite')}
              </Button>
            </FormEnd>
          </form>
        )}
      </div>
    </Modal>
  )
}

/** A text that was pasted or left in the field may have several. */
function addressesIn(texts: readonly string[]): readonly string[] {
  return [...new Set(texts.flatMap((text) => text.split(/[\s,;]+/)).filter((one) => one !== ''))]
}

/** The links of new invitations: they are shown this once. */
export function SentInvitations({ sent }: { readonly sent: readonly Invited[] }): ReactNode {
  const t = useWords('members')
  return (
    <>
      <p className={classes.warning}>
        <Icon name="alert" />
        {t('once')}
      </p>
      <ul className={classes.list}>
        {sent.map(({ id, email, phone, token, mailed }) => (
          <li key={id} className={classes.item}>
            <span>{email ?? phone}</span>
            {mailed && (
              <Badge tone="good" icon="check">
                {t('mailed')}
              </Badge>
            )}
            <CopyButton text={invitationLink(token)} label={t('copyLink')} />
          </li>
        ))}
      </ul>
    </>
  )
}

/** The new link of an invitation that was sent again. */
export function ResentInvitation({
  sent,
  onClose,
}: {
  readonly sent: Invited
  readonly onClose: () => void
}): ReactNode {
  const t = useWords('members')
  const common = useWords('common')
  return (
    <Modal
      opened
      onClose={onClose}
      title={t('resent')}
      size={560}
      closeOnClickOutside={false}
      closeButtonProps={{ 'aria-label': common('close') }}
    >
      <div className={`${classes.form} ${classes.wide}`}>
        <SentInvitations sent={[sent]} />
        <div className={classes.acts}>
          <Button variant="default" onClick={onClose}>
            {t('done')}
          </Button>
        </div>
      </div>
    </Modal>
  )
}
