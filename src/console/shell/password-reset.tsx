import { Button, PasswordInput, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { Link, useLocation } from 'wouter'
import { call, forgetSession } from '../api/session.ts'
import { Icon } from '../parts/icons.tsx'
import { FormError } from '../parts/states.tsx'
import { onSubmit, useSubmission } from '../parts/submission.ts'
import { useWords } from '../words/index.ts'
import { forgetMailedToken, mailedToken } from './mailed-token.ts'
import { VisitorFrame } from './visitor-frame.tsx'
import classes from './login.module.css'

/** Asks for the link that sets a new password. The answer does not tell whether there is such a user. */
export function ForgotPassword(): ReactNode {
  const t = useWords('account')
  const [name, setName] = useState('')
  const [isMailed, setIsMailed] = useState(false)
  const form = useSubmission(['phone', 'email'])
  const submit = async (): Promise<void> => {
    const typed = name.trim()
    const body = typed.includes('@') ? { email: typed } : { phone: typed }
    await call('forgotPassword', { body }, { maxRetries: 0 })
    setIsMailed(true)
  }
  return (
    <VisitorFrame title={t('forgot.title')} about={isMailed ? t('forgot.mailed') : t('forgot.about')}>
      {!isMailed && (
        <form className={classes.form} onSubmit={onSubmit(form, submit)} noValidate>
          <TextInput
            label={t('forgot.name')}
            name="username"
            autoComplete="username"
            value={name}
            error={form.toldOf('phone') ?? form.toldOf('email')}
            onChange={(event) => {
              setName(event.currentTarget.value)
            }}
            autoFocus
          />
          <FormError cause={form.cause} />
          <Button type="submit" fullWidth loading={form.isBusy} disabled={name.trim() === ''}>
            {t('forgot.submit')}
          </Button>
        </form>
      )}
      <BackToLogin />
    </VisitorFrame>
  )
}

/** Sets a new password with the token of the e-mail. All sessions of the user end with that. */
export function ResetPassword(): ReactNode {
  const t = useWords('account')
  const [token] = useState(mailedToken)
  const [password, setPassword] = useState('')
  const [isDone, setIsDone] = useState(false)
  const [, navigate] = useLocation()
  const form = useSubmission(['new_password'])
  const submit = async (): Promise<void> => {
    await call('resetPassword', { body: { token: token ?? '', new_password: password } }, { maxRetries: 0 })
    forgetMailedToken()
    forgetSession()
    setIsDone(true)
  }
  if (token === null) {
    return (
      <VisitorFrame title={t('reset.title')} about={t('noToken')}>
        <BackToLogin />
      </VisitorFrame>
    )
  }
  return (
    <VisitorFrame title={t('reset.title')} about={isDone ? t('reset.done') : t('reset.about')}>
      {isDone ? (
        <Button
          fullWidth
          onClick={() => {
            navigate('/login', { replace: true })
          }}
        >
          {t('reset.logIn')}
        </Button>
      ) : (
        <form className={classes.form} onSubmit={onSubmit(form, submit)} noValidate>
          <NewPassword value={password} error={form.toldOf('new_password')} onChange={setPassword} isFirst />
          <FormError cause={form.cause} />
          <Button type="submit" fullWidth loading={form.isBusy} disabled={password === ''}>
            {t('reset.submit')}
          </Button>
          <BackToLogin />
        </form>
      )}
    </VisitorFrame>
  )
}

interface NewPasswordProps {
  readonly value: string
  readonly error: string | undefined
  readonly onChange: (value: string) => void
  readonly isFirst?: boolean
}

export function NewPassword({ value, error, onChange, isFirst = false }: NewPasswordProps): ReactNode {
  const t = useWords('account')
  const common = useWords('common')
  return (
    <PasswordInput
      label={t('newPassword')}
      description={t('newPasswordHint')}
      name="new-password"
      autoComplete="new-password"
      value={value}
      error={error}
      visibilityToggleButtonProps={{ 'aria-label': common('login.showPassword') }}
      onChange={(event) => {
        onChange(event.currentTarget.value)
      }}
      autoFocus={isFirst}
    />
  )
}

export function BackToLogin({ href = '/login' }: { readonly href?: string }): ReactNode {
  const t = useWords('account')
  return (
    <Link href={href} className={classes.way}>
      <Icon name="chevronLeft" size={14} />
      {t('backToLogin')}
    </Link>
  )
}
