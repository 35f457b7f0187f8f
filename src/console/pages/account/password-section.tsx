import { Button } from '@mantine/core'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { refresh } from '../../api/queries.ts'
import { changePassword } from '../../api/session.ts'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { toast } from '../../parts/toasts.tsx'
import { useSubmission } from '../../parts/submission.ts'
import { NewPassword } from '../../shell/password-reset.tsx'
import { useWords } from '../../words/index.ts'
import { AccountSection, OwnPassword } from './section.tsx'

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
    <FormDialog
      title={t('changePassword.open')}
      act={t('changePassword.submit')}
      size={480}
      submission={form}
      isDisabled={old === '' || fresh === ''}
      onSubmit={() => {
        void form.run(submit)
      }}
      onClose={onClose}
    >
      <OwnPassword label={t('oldPassword')} value={old} error={form.toldOf('old_password')} onChange={setOld} />
      <NewPassword value={fresh} error={form.toldOf('new_password')} onChange={setFresh} />
    </FormDialog>
  )
}
