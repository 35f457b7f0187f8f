import { Button, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { refresh, useRead } from '../../api/queries.ts'
import { call } from '../../api/session.ts'
import { Badge } from '../../parts/badge.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { toast } from '../../parts/toasts.tsx'
import { useSubmission } from '../../parts/submission.ts'
import { useAccount } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import { AccountSection, OwnPassword } from './section.tsx'
import classes from './account.module.css'

type Dialog = 'change' | 'remove'

/** The address that links are mailed to. A new one counts when the link that is mailed there is opened. */
export function EmailSection(): ReactNode {
  const t = useWords('account')
  const { email, email_verified: isVerified, pending_email: pending } = useAccount()
  const methods = useRead('signInMethods', {}, { staleMs: 300_000 })
  const [dialog, setDialog] = useState<Dialog | null>(null)
  const canMail = methods.data?.password_reset === true
  const close = (): void => {
    setDialog(null)
  }
  return (
    <AccountSection title={t('email.title')}>
      {email === null ? (
        <p className="muted">{t('email.none')}</p>
      ) : (
        <div className={classes.line}>
          <span>{email}</span>
          {isVerified ? (
            <Badge tone="good" icon="check">
              {t('email.verified')}
            </Badge>
          ) : (
            <Badge tone="warn" icon="clock">
              {t('email.notVerified')}
            </Badge>
          )}
        </div>
      )}
      {pending !== null && (
        <p className={classes.text} role="status">
          {t('email.pending', { email: pending })}
        </p>
      )}
      {methods.data !== undefined && !canMail && <p className="muted note">{t('email.noMail')}</p>}
      <div className={classes.line}>
        {canMail && (
          <Button
            variant="default"
            onClick={() => {
              setDialog('change')
            }}
          >
            {email === null ? t('email.set') : isVerified ? t('email.change') : t('email.verify')}
          </Button>
        )}
        {email !== null && (
          <Button
            variant="default"
            onClick={() => {
              setDialog('remove')
            }}
          >
            {t('email.remove')}
          </Button>
        )}
      </div>
      {dialog === 'change' && <ChangeEmail first={isVerified ? '' : (email ?? '')} onClose={close} />}
      {dialog === 'remove' && <RemoveEmail onClose={close} />}
    </AccountSection>
  )
}

function ChangeEmail({ first, onClose }: { readonly first: string; readonly onClose: () => void }): ReactNode {
  const t = useWords('account')
  const [email, setEmail] = useState(first)
  const [password, setPassword] = useState('')
  const form = useSubmission(['email', 'password'], { LOGIN_FAILED: 'password' })
  const submit = async (): Promise<void> => {
    await call('changeEmail', { body: { email: email.trim(), password } }, { maxRetries: 0 })
    toast('good', t('email.mailed', { email: email.trim() }))
    onClose()
    await refresh('me')
  }
  return (
    <FormDialog
      title={t('email.title')}
      act={t('email.submit')}
      size={480}
      submission={form}
      isDisabled={email.trim() === '' || password === ''}
      onSubmit={() => {
        void form.run(submit)
      }}
      onClose={onClose}
    >
      <TextInput
        label={t('email.new')}
        description={t('email.hint')}
        type="email"
        autoComplete="email"
        value={email}
        error={form.toldOf('email')}
        onChange={(event) => {
          setEmail(event.currentTarget.value)
        }}
        data-autofocus
      />
      <OwnPassword value={password} error={form.toldOf('password')} onChange={setPassword} />
    </FormDialog>
  )
}

function RemoveEmail({ onClose }: { readonly onClose: () => void }): ReactNode {
  const t = useWords('account')
  const [password, setPassword] = useState('')
  const form = useSubmission(['password'], { LOGIN_FAILED: 'password' })
  const submit = async (): Promise<void> => {
    await call('changeEmail', { body: { email: null, password } }, { maxRetries: 0 })
    toast('good', t('email.removed'))
    onClose()
    await refresh('me')
  }
  return (
    <FormDialog
      title={t('email.title')}
      act={t('email.remove')}
      isDanger
      size={480}
      submission={form}
      isDisabled={password === ''}
      onSubmit={() => {
        void form.run(submit)
      }}
      onClose={onClose}
    >
      <p className={classes.text}>{t('email.removeAbout')}</p>
      <OwnPassword value={password} error={form.toldOf('password')} onChange={setPassword} />
    </FormDialog>
  )
}
