import { Textarea } from '@mantine/core'
import { useState } from 'react'
import type { ReactNode } from 'react'
import type { Role } from '../../api/rights.ts'
import { enterpriseIdOf } from '../../parts/enterprise.ts'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { DepartmentSelect, RoleSelect } from '../../parts/member-fields.tsx'
import { toast } from '../../parts/toasts.tsx'
import { useSubmission } from '../../parts/submission.ts'
import type { Scope } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import { approve, reject } from './join-calls.ts'
import type { JoinRequest } from './join-calls.ts'
import classes from '../../parts/form.module.css'

const MAX_REASON = 500

interface DecideProps {
  readonly scope: Scope
  readonly request: JoinRequest
  readonly onClose: () => void
}

export function Approve({ scope, request, onClose }: DecideProps): ReactNode {
  const t = useWords('joins')
  const words = useWords('enterprise')
  const act = useSubmission()
  const [role, setRole] = useState<Role>('employee')
  const [departmentId, setDepartmentId] = useState('')
  const { name } = request.user
  return (
    <FormDialog
      title={t('approveTitle', { name })}
      act={t('approve')}
      isReady
      size={480}
      submission={act}
      onSubmit={() => {
        const body = { role, department_id: departmentId === '' ? null : departmentId }
        void act
          .run(() => approve(enterpriseIdOf(scope), request.id, body))
          .then((isDone) => {
            if (!isDone) return
            toast('good', t('approved', { name }))
            onClose()
          })
      }}
      onClose={onClose}
    >
      <RoleSelect scope={scope} value={role} onChange={setRole} />
      <DepartmentSelect
        scope={scope}
        label={words('department')}
        none={words('noDepartment')}
        value={departmentId}
        onChange={setDepartmentId}
      />
    </FormDialog>
  )
}

export function Reject({ scope, request, onClose }: DecideProps): ReactNode {
  const t = useWords('joins')
  const act = useSubmission()
  const [reason, setReason] = useState('')
  const { name } = request.user
  return (
    <FormDialog
      title={t('rejectTitle', { name })}
      act={t('reject')}
      isDanger
      size={480}
      submission={act}
      onSubmit={() => {
        void act
          .run(() => reject(enterpriseIdOf(scope), request.id, reason.trim()))
          .then((isDone) => {
            if (!isDone) return
            toast('good', t('rejected', { name }))
            onClose()
          })
      }}
      onClose={onClose}
    >
      <p className={classes.text}>{t('rejectAbout')}</p>
      <Textarea
        label={t('reason')}
        description={t('reasonHint')}
        value={reason}
        maxLength={MAX_REASON}
        rows={3}
        data-autofocus
        onChange={(event) => {
          setReason(event.currentTarget.value)
        }}
      />
    </FormDialog>
  )
}
