import { Button, Modal } from '@mantine/core'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { ancestryOf } from '../../parts/department-tree.ts'
import { enterpriseIdOf, useDepartments, useEnterprise } from '../../parts/enterprise.ts'
import type { Department } from '../../parts/enterprise.ts'
import { DepartmentSelect } from '../../parts/member-fields.tsx'
import { FormError } from '../../parts/states.tsx'
import { toast } from '../../parts/toasts.tsx'
import { useSubmission } from '../../parts/submission.ts'
import { told } from '../../parts/told.ts'
import type { Scope } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import { BudgetList } from './budget-list.tsx'
import { chainAbove, own } from './budget-chain.ts'
import { updateDepartment } from './department-calls.ts'
import formClasses from '../../parts/form.module.css'
import classes from './departments-page.module.css'

interface MoveDepartmentProps {
  readonly scope: Scope
  readonly department: Department
  readonly onClose: () => void
}

/** Chooses another place in the tree, and shows beforehand which budgets pay there. */
export function MoveDepartment({ scope, department, onClose }: MoveDepartmentProps): ReactNode {
  const t = useWords('departments')
  const common = useWords('common')
  const words = useWords('enterprise')
  const act = useSubmission(['parent_id'])
  const departments = useDepartments(scope) ?? []
  const enterprise = useEnterprise(scope).data
  const before = department.parent_id ?? ''
  const [parent, setParent] = useState(before)
  const { id, name } = department
  const below = departments.filter(
    (one) => one.id === id || ancestryOf(departments, one.parent_id).some((up) => up.id === id),
  )
  const chainOf = (parentId: string) => [
    own(department),
    ...chainAbove(departments, parentId === '' ? null : parentId, enterprise),
  ]
  const move = (to: string): Promise<void> =>
    updateDepartment(enterpriseIdOf(scope), id, { parent_id: to === '' ? null : to })
  return (
    <Modal
      opened
      onClose={onClose}
      title={t('moveTitle', { name })}
      size={520}
      closeButtonProps={{ 'aria-label': common('close') }}
    >
      <div className={formClasses.form}>
        <DepartmentSelect
          scope={scope}
          label={t('moveTo')}
          none={words('enterpriseItself')}
          value={parent}
          without={new Set(below.map((one) => one.id))}
          error={act.toldOf('parent_id')}
          onChange={setParent}
        />
        <div className={classes.pair}>
          <strong>{parent === before ? t('paysNow') : t('paysThen')}</strong>
          <BudgetList chain={chainOf(parent)} />
        </div>
        <p className={`${formClasses.text} muted note`}>{t('moveAbout')}</p>
        <FormError cause={act.cause} />
        <div className={formClasses.acts}>
          <Button variant="default" onClick={onClose}>
            {common('cancel')}
          </Button>
          <Button
            loading={act.isBusy}
            disabled={parent === before}
            title={parent === before ? t('moveSame') : undefined}
            onClick={() => {
              void act
                .run(() => move(parent))
                .then((isDone) => {
                  if (!isDone) return
                  toast('good', t('moved', { name }), () => {
                    told(move(before))
                  })
                  onClose()
                })
            }}
          >
            {t('move')}
          </Button>
        </div>
      </div>
    </Modal>
  )
}
