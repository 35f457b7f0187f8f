import { TextInput } from '@mantine/core'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { enterpriseIdOf } from '../../parts/enterprise.ts'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { LimitFields } from '../../parts/limit-fields.tsx'
import { limitBodyOf, limitErrorsOf, LIMIT_FIELDS, NO_LIMITS } from '../../parts/limits.ts'
import type { LimitDraft, LimitErrors } from '../../parts/limits.ts'
import { DepartmentSelect } from '../../parts/member-fields.tsx'
import { toast } from '../../parts/toasts.tsx'
import { useSubmission } from '../../parts/submission.ts'
import type { Scope } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import { createDepartment } from './department-calls.ts'

interface CreateDepartmentProps {
  readonly scope: Scope
  /** Empty: directly below the enterprise. */
  readonly parentId: string
  readonly onClose: () => void
}

export function CreateDepartment({ scope, parentId, onClose }: CreateDepartmentProps): ReactNode {
  const t = useWords('departments')
  const words = useWords('enterprise')
  const act = useSubmission([...LIMIT_FIELDS, 'name', 'parent_id'])
  const [name, setName] = useState('')
  const [isMissing, setIsMissing] = useState(false)
  const [parent, setParent] = useState(parentId)
  const [limits, setLimits] = useState<LimitDraft>(NO_LIMITS)
  const [errors, setErrors] = useState<LimitErrors>({})
  const submit = async (): Promise<void> => {
    const found = limitErrorsOf(limits)
    setErrors(found)
    setIsMissing(name.trim() === '')
    if (Object.keys(found).length > 0 || name.trim() === '') return
    const body = { name: name.trim(), parent_id: parent === '' ? null : parent, ...limitBodyOf(limits) }
    const isDone = await act.run(() => createDepartment(enterpriseIdOf(scope), body))
    if (!isDone) return
    toast('good', t('created', { name: name.trim() }))
    onClose()
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
      <TextInput
        label={t('name')}
        value={name}
        maxLength={100}
        autoComplete="off"
        data-autofocus
        error={isMissing ? t('nameMissing') : act.toldOf('name')}
        onChange={(event) => {
          setName(event.currentTarget.value)
          setIsMissing(false)
        }}
      />
      <DepartmentSelect
        scope={scope}
        label={t('parent')}
        none={words('enterpriseItself')}
        description={t('parentHint')}
        value={parent}
        error={act.toldOf('parent_id')}
        onChange={setParent}
      />
      <LimitFields
        scope={scope}
        draft={limits}
        errors={errors}
        toldOf={act.toldOf}
        onChange={(change) => {
          setLimits({ ...limits, ...change })
          setErrors({})
        }}
      />
    </FormDialog>
  )
}
