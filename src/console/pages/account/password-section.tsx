import { Button, Modal } from '@mantine/core'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { refresh } from '../../api/queries.ts'
import { changePassword } from '../../api/session.ts'
import { FormError } from '../../parts/states.tsx'
import { toast } from '../../parts/toasts.tsx'
import { onSubmit, useSubmission } from '../../parts/submission.ts'
import { NewPassword } from '../../shell/password-reset.tsx'
import { useWords } from '../../words/index.ts'
import { AccountSection, OwnPassword } from './section.tsx'
import classes from './account.module.css'

export function PasswordSection(): ReactNode {
  const t = useWords('account')
  const [isOpen, setIsOpen] = useState(false)
  return (
    <AccountSection title={t('changePassword.title')}>
      <Button
        variant="default"
        onClick={() => {
          setIsOpen(true)
        }}
      >
        {t('changePassword.open')}
      </Button>
      {isOpen && (
        <ChangePassword
          onClose={() => {
            setIsOpen(false)
          }}
        />
      )}
    </AccountSection>
  )
}

function ChangePassword({ onClose }: { readonly onClose: () => void }): ReactNode {
  const t = useWords('account')
  const common = useWords('common')
  const [old, setOld] = useState('')
  const [fresh, setFresh] = useState('')
  const form = useSubmission(['old_password', 'new_password'], { LOGIN_FAILED: 'old_password' })
  const submit = async (): Promise<void> => {
    await changePassword({ old_password: old, new_password: fresh })
    toast('good', t('changePassword.done'))
    onClose()
    await refresh('listSessions')
  }
  return (
    <Modal
      opened
      onClose={onClose}
      title={t('changePassword.open')}
      size={480}
      closeButtonProps={{ 'aria-label': common('close') }}
    >
      <form className={classes.form} onSubmit={onSubmit(form, submit)} noValidate>
        <OwnPassword label={t('oldPassword')} value={old} error={form.toldOf('old_password')} onChange={setOld} />
        <NewPassword value={fresh} error={form.toldOf('new_password')} onChange={setFresh} />
        <FormError cause={form.cause} />
        <div className={classes.acts}>
          <Button variant="default" onClick={onClose}>
            {common('cancel')}
          </Button>
          <Button type="submit" loading={form.isBusy} disabled={old === '' || fresh === ''}>
            {t('changePassword.submit')}
          </Button>
        </div>
      </form>
    </Modal>
  )
}
