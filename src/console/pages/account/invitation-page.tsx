import { Button, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import type { ResultOf } from '../../../client/index.ts'
import { refresh } from '../../api/queries.ts'
import { call } from '../../api/session.ts'
import { Page } from '../../parts/page.tsx'
import { FormError } from '../../parts/states.tsx'
import { onSubmit, useSubmission } from '../../parts/submission.ts'
import { forgetMailedToken, mailedToken } from '../../shell/mailed-token.ts'
import { useWords } from '../../words/index.ts'
import classes from './account.module.css'

type Accepted = ResultOf<'acceptInvitation'>

/** Accepts an invitation: by the link of its e-mail, or with its token, which another person passed on. */
export function InvitationPage(): ReactNode {
  const t = useWords('account')
  const common = useWords('common')
  const [mailed] = useState(mailedToken)
  const [typed, setTyped] = useState('')
  const [accepted, setAccepted] = useState<Accepted | null>(null)
  const token = mailed ?? typed.trim()
  const form = useSubmission(mailed === null ? ['token'] : [])
  const submit = async (): Promise<void> => {
    setAccepted(await call('acceptInvitation', { body: { token } }))
    forgetMailedToken()
    await refresh('me')
  }
  if (accepted !== null) {
    const { enterprise, role } = accepted
    return (
      <Page
        title={t('invitation.title')}
        about={t('invitation.done', { enterprise: enterprise.name, role: common(`roles.${role}`) })}
      >
        <div>
          <Button component={Link} href={`/e/${encodeURIComponent(enterprise.id)}/`}>
            {t('invitation.open', { enterprise: enterprise.name })}
          </Button>
        </div>
      </Page>
    )
  }
  return (
    <Page title={t('invitation.title')} about={t('invitation.about')}>
      <form className={classes.form} onSubmit={onSubmit(form, submit)} noValidate>
        {mailed === null && (
          <TextInput
            label={t('invitation.token')}
            description={t('invitation.tokenHint')}
            autoComplete="off"
            spellCheck={false}
            value={typed}
            error={form.toldOf('token')}
            onChange={(event) => {
              setTyped(event.currentTarget.value)
            }}
          />
        )}
        <FormError cause={form.cause} />
        <div>
          <Button type="submit" loading={form.isBusy} disabled={token === ''}>
            {t('invitation.submit')}
          </Button>
        </div>
      </form>
    </Page>
  )
}
