import { useState } from 'react'
import type { ReactNode } from 'react'
import { enterpriseIdOf } from '../../parts/enterprise.ts'
import { FormDialog } from '../../parts/form-dialog.tsx'
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

/** The fields beside which the gateway's words are shown. */
export const FIELDS: readonly string[] = ['name', 'threshold', 'owners', 'min_requests', 'channels', 'quiet']

interface CreateAlertProps {
  readonly scope: Scope
  readonly onClose: () => void
}

export function CreateAlert({ scope, onClose }: CreateAlertProps): ReactNode {
  const t = useWords('alerts')
  const act = useSubmission(FIELDS)
  const [draft, setDraft] = useState<AlertDraft>(EMPTY_ALERT)
  const [errors, setErrors] = useState<DraftErrors>({})
  const [secrets, setSecrets] = useState<readonly ShownSecret[]>([])
  if (secrets.length > 0) return <Secrets secrets={secrets} onClose={onClose} />
  const submit = async (): Promise<void> => {
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
    <FormDialog
      title={t('create')}
      act={t('create')}
      submission={act}
      onSubmit={() => {
        void submit()
      }}
      onClose={onClose}
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
    </FormDialog>
  )
}
