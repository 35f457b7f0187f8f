import { Button, Modal, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { refresh, useRead } from '../../api/queries.ts'
import { call } from '../../api/session.ts'
import { Badge } from '../../parts/badge.tsx'
import { FormError } from '../../parts/states.tsx'
import { toast } from '../../parts/toasts.tsx'
import { onSubmit, useSubmission } from '../../parts/submission.ts'
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
  const common = useWords('common')
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
    <Modal
      opened
      onClose={onClose}
      title={t('email.title')}
      size={480}
      closeButtonProps={{ 'aria-label': common('close') }}
    >
      <form className={classes.form} onSubmit={onSubmit(form, submit)} noValidate>
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
        <FormError cause={form.cause} />
        <div className={classes.acts}>
          <Button variant="default" onClick={onClose}>
            {common('cancel')}
          </Button>
          <Button type="submit" loading={form.isBusy} disabled={email.trim() === '' || password === ''}>
            {t('email.submit')}
          </Button>
        </div>
      </form>
    </Modal>
  )
}

function RemoveEmail({ onClose }: { readonly onClose: () => void }): ReactNode {
  const t = useWords('account')
  const common = useWords('common')
  const [password, setPassword] = useState('')
  const form = useSubmission(['password'], { LOGIN_FAILED: 'password' })
  const submit = async (): Promise<void> => {
    await call('changeEmail', { body: { email: null, password } }, { maxRetries: 0 })
    toast('good', t('email.removed'))
    onClose()
    await refresh('me')
  }
  return (
    <Modal
      opened
      onClose={onClose}
      title={t('email.title')}
      size={480}
      closeButtonProps={{ 'aria-label': common('close') }}
    >
      <form className={classes.form} onSubmit={onSubmit(form, submit)} noValidate>
        <p className={classes.text}>{t('email.removeAbout')}</p>
        <OwnPassword value={password} error={form.toldOf('password')} onChange={setPassword} />
        <FormError cause={form.cause} />
        <div className={classes.acts}>
          <Button variant="default" onClick={onClose}>
            {common('cancel')}
          </Button>
          <Button type="submit" variant="danger" loading={form.isBusy} disabled={password === ''}>
            {t('email.remove')}
          </Button>
        </div>
      </form>
    </Modal>
  )
}
