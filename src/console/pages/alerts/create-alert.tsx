import { Button, Modal } from '@mantine/core'
import { useState } from 'react'
import type { FormEvent, ReactNode } from 'react'
import { enterpriseIdOf } from '../../parts/enterprise.ts'
import { FormError } from '../../parts/states.tsx'
import { toast } from '../../parts/toasts.tsx'
import { useSubmission } from '../../parts/submission.ts'
import type { Scope } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import { createAlert } from './alert-calls.ts'
import { bodyOf, EMPTY_ALERT, errorsOf } from './alert-draft.ts'
import type { AlertDraft, DraftErrors } from './alert-draft.ts'
import { AlertFields } from './alert-form.tsx'
import { Secrets, secretsOf } from './secrets.tsx'
import type { ShownSecret } from './secrets.tsx'
import classes from '../../parts/form.module.css'

/** The fields beside which the gateway's words are shown. */
export const FIELDS: readonly string[] = ['name', 'threshold', 'owners', 'min_requests', 'channels', 'quiet']

interface CreateAlertProps {
  readonly scope: Scope
  readonly onClose: () => void
}

export function CreateAlert({ scope, onClose }: CreateAlertProps): ReactNode {
  const t = useWords('alerts')
  const common = useWords('common')
  const act = useSubmission(FIELDS)
  const [draft, setDraft] = useState<AlertDraft>(EMPTY_ALERT)
  const [errors, setErrors] = useState<DraftErrors>({})
  const [secrets, setSecrets] = useState<readonly ShownSecret[]>([])
  if (secrets.length > 0) return <Secrets secrets={secrets} onClose={onClose} />
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault()
    const found = errorsOf(draft)
    setErrors(found)
    if (Object.keys(found).length > 0) return
    await act.run(async () => {
      const shown = secretsOf(await createAlert(enterpriseIdOf(scope), bodyOf(draft)))
      toast('good', t('created'))
      if (shown.length > 0) setSecrets(shown)
      else onClose()
    })
  }
  return (
    <Modal
      opened
      onClose={onClose}
      title={t('create')}
      size={520}
      closeOnClickOutside={false}
      closeButtonProps={{ 'aria-label': common('close') }}
    >
      <form
        className={classes.form}
        noValidate
        onSubmit={(event) => {
          void submit(event)
        }}
      >
        <AlertFields
          draft={draft}
          errors={errors}
          toldOf={act.toldOf}
          isNew
          onChange={(change) => {
            setDraft({ ...draft, ...change })
            setErrors({})
            act.forget()
          }}
        />
        <FormError cause={act.cause} />
        <div className={classes.acts}>
          <Button variant="default" onClick={onClose}>
            {common('cancel')}
          </Button>
          <Button type="submit" loading={act.isBusy}>
            {t('create')}
          </Button>
        </div>
      </form>
    </Modal>
  )
}
