import { TextInput } from '@mantine/core'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { useSubmission } from '../../parts/submission.ts'
import { toast } from '../../parts/toasts.tsx'
import { useWords } from '../../words/index.ts'
import { changeModel } from './model-calls.ts'
import { priceDraftOf, pricesOf } from './price-draft.ts'
import { PriceFields } from './price-fields.tsx'

interface NewModelProps {
  readonly onClose: () => void
  readonly onCreated: (id: string) => void
}

/** Sets the prices of a model that the catalogue does not know, or knows otherwise. */
export function NewModel({ onClose, onCreated }: NewModelProps): ReactNode {
  const t = useWords('models')
  const [id, setId] = useState('')
  const [draft, setDraft] = useState(priceDraftOf(null))
  const [isChecked, setIsChecked] = useState(false)
  const submission = useSubmission(['id', 'prices'])
  const name = id.trim()
  const submit = async (): Promise<void> => {
    setIsChecked(true)
    const prices = pricesOf(draft)
    if (name === '' || prices === null) return
    if (!(await submission.run(() => changeModel(name, { prices }, null)))) return
    toast('good', t('changed', { id: name }))
    onCreated(name)
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
        label={t('columns.id')}
        description={t('idHint')}
        value={id}
        error={isChecked && name === '' ? t('errors.id') : submission.toldOf('id')}
        autoComplete="off"
        spellCheck={false}
        data-autofocus
        onChange={(event) => {
          setId(event.currentTarget.value)
        }}
      />
      <PriceFields draft={draft} isChecked={isChecked} told={submission.toldOf('prices')} onChange={setDraft} />
    </FormDialog>
  )
}
