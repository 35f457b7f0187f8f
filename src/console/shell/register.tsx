import { Button, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { useRead } from '../api/queries.ts'
import { register } from '../api/session.ts'
import { FormError } from '../parts/states.tsx'
import { onSubmit, useSubmission } from '../parts/submission.ts'
import { useWords } from '../words/index.ts'
import { mailedToken } from './mailed-token.ts'
import { BackToLogin, NewPassword } from './password-reset.tsx'
import { VisitorFrame } from './visitor-frame.tsx'
import classes from './login.module.css'

/** Makes an account where everybody may, or with the token of an invitation, which is accepted with that. */
export function Register(): ReactNode {
  const t = useWords('account')
  const common = useWords('common')
  const [invitation] = useState(mailedToken)
  const [phone, setPhone] = useState('')
  const [name, setName] = useState('')
  const [password, setPassword] = useState('')
  const methods = useRead('signInMethods', {}, { staleMs: 300_000 })
  const form = useSubmission(['phone', 'name', 'password'])
  const submit = (): Promise<void> =>
    register({
      phone: phone.trim(),
      name: name.trim(),
      password,
      ...(invitation === null ? {} : { invitation_token: invitation }),
    })
  if (invitation === null && methods.data?.registration === false) {
    return (
      <VisitorFrame title={t('register.title')} about={t('register.closed')}>
        <BackToLogin />
      </VisitorFrame>
    )
  }
  return (
    <VisitorFrame
      title={t('register.title')}
      about={invitation === null ? t('register.about') : t('register.aboutInvited')}
    >
      <form className={classes.form} onSubmit={onSubmit(form, submit)} noValidate>
        <TextInput
          label={t('name')}
          name="name"
          autoComplete="name"
          value={name}
          error={form.toldOf('name')}
          onChange={(event) => {
            setName(event.currentTarget.value)
          }}
          autoFocus
        />
        <TextInput
          label={common('login.phone')}
          description={common('login.phoneHint')}
          type="tel"
          name="username"
          autoComplete="username"
          value={phone}
          error={form.toldOf('phone')}
          onChange={(event) => {
            setPhone(event.currentTarget.value)
          }}
        />
        <NewPassword value={password} error={form.toldOf('password')} onChange={setPassword} />
        <FormError cause={form.cause} />
        <Button
          type="submit"
          fullWidth
          loading={form.isBusy}
          disabled={phone.trim() === '' || name.trim() === '' || password === ''}
        >
          {t('register.submit')}
        </Button>
        <BackToLogin href={invitation === null ? '/login' : `/invitation#token=${encodeURIComponent(invitation)}`} />
      </form>
    </VisitorFrame>
  )
}
