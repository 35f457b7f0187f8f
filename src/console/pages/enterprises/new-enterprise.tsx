import { TextInput } from '@mantine/core'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { useSubmission } from '../../parts/submission.ts'
import { toast } from '../../parts/toasts.tsx'
import { useCurrency } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import { createEnterprise } from './enterprise-calls.ts'
import { bodyOf, EMPTY_DRAFT, errorsOf, FIELDS } from './enterprise-draft.ts'
import type { DraftErrors } from './enterprise-draft.ts'
import { EnterpriseFields } from './enterprise-fields.tsx'

interface NewEnterpriseProps {
  readonly onClose: () => void
  readonly onCreated: (id: string) => void
}

export function NewEnterprise({ onClose, onCreated }: NewEnterpriseProps): ReactNode {
  const t = useWords('enterprises')
  const currency = useCurrency()
  const [draft, setDraft] = useState(EMPTY_DRAFT)
  const [owner, setOwner] = useState('')
  const [errors, setErrors] = useState<DraftErrors>({})
  const submission = useSubmission([...FIELDS, 'owner_phone'])
  const submit = async (): Promise<void> => {
    const found = errorsOf(draft)
    setErrors(found)
    if (Object.keys(found).length > 0) return
    await submission.run(async () => {
      const given = Object.entries(bodyOf(draft)).filter(([, value]) => value !== null)
      const made = await createEnterprise({
        ...Object.fromEntries(given),
        name: draft.name.trim(),
        ...(owner.trim() === '' ? {} : { owner_phone: owner.trim() }),
      })
      toast('good', t('created', { name: made.name }))
      onCreated(made.id)
    })
  }
  return (
    <FormDialog
      title={t('create')}
      act={t('create')}
      submission={submission}
      onClose={onClose}
      onSubmit={() => {
        void submit()
      }}
    >
      <TextInput
        label={t('fields.owner_phone')}
        description={t('hints.owner_phone')}
        value={owner}
        error={submission.toldOf('owner_phone')}
        inputMode="tel"
        autoComplete="off"
        placeholder="+12025550100"
        onChange={(event) => {
          setOwner(event.currentTarget.value)
        }}
      />
      <EnterpriseFields
        draft={draft}
        errors={errors}
        toldOf={submission.toldOf}
        currency={currency}
        onChange={(change) => {
          setDraft({ ...draft, ...change })
          setErrors({})
        }}
      />
    </FormDialog>
  )
}
