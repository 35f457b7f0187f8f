import { Button } from '@mantine/core'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { useLocation } from 'wouter'
import { refresh } from '../../api/queries.ts'
import { call } from '../../api/session.ts'
import { Page } from '../../parts/page.tsx'
import { FormError } from '../../parts/states.tsx'
import { toast } from '../../parts/toasts.tsx'
import { onSubmit, useSubmission } from '../../parts/submission.ts'
import { mailedToken } from '../../shell/mailed-token.ts'
import { useWords } from '../../words/index.ts'
import classes from './account.module.css'

/** Takes the token of a mailed link. A button asks first: a link that is opened by a program verifies nothing. */
export function VerifyEmailPage(): ReactNode {
  const t = useWords('account')
  const [token] = useState(mailedToken)
  const [, navigate] = useLocation()
  const form = useSubmission()
  const submit = async (): Promise<void> => {
    await call('verifyEmail', { body: { token: token ?? '' } }, { maxRetries: 0 })
    toast('good', t('verify.done'))
    navigate('/account', { replace: true })
    await refresh('me')
  }
  return (
    <Page title={t('verify.title')} about={token === null ? t('noToken') : t('verify.about')}>
      {token !== null && (
        <form className={classes.form} onSubmit={onSubmit(form, submit)}>
          <FormError cause={form.cause} />
          <div>
            <Button type="submit" loading={form.isBusy}>
              {t('verify.submit')}
            </Button>
          </div>
        </form>
      )}
    </Page>
  )
}
