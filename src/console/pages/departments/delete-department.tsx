import { Button, Modal } from '@mantine/core'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { useRead } from '../../api/queries.ts'
import { exact } from '../../format/numbers.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { enterpriseIdOf, useDepartments } from '../../parts/enterprise.ts'
import type { Department } from '../../parts/enterprise.ts'
import { toast } from '../../parts/toasts.tsx'
import { useLocale } from '../../parts/values.tsx'
import { pathIn } from '../../shell/scope.ts'
import type { Scope } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import { deleteDepartment } from './department-calls.ts'
import classes from '../../parts/form.module.css'

const MAX_INVITATIONS = 100

interface DeleteDepartmentProps {
  readonly scope: Scope
  readonly department: Department
  readonly onClose: () => void
  readonly onDeleted: () => void
}

/** Only an empty department can be deleted: what is still in it is counted by the gateway, and named. */
export function DeleteDepartment({ scope, department, onClose, onDeleted }: DeleteDepartmentProps): ReactNode {
  const t = useWords('departments')
  const common = useWords('common')
  const words = useWords('enterprise')
  const locale = useLocale()
  const params = { id: enterpriseIdOf(scope) }
  const { id, name, members } = department
  const keys = useRead('listEnterpriseKeys', { params, query: { department_id: id, limit: 1 } }).data?.total
  const invitations = useRead('listInvitations', { params, query: { limit: MAX_INVITATIONS } }).data?.data
  const below = (useDepartments(scope) ?? []).filter((one) => one.parent_id === id).length
  const waiting = invitations?.filter((one) => one.department_id === id && one.status === 'pending').length ?? 0
  const shown = (count: number) => ({ count, shown: exact(count, locale) })
  if (keys === undefined || members + keys + below > 0) {
    return (
      <Modal
        opened
        onClose={onClose}
        title={t('notEmpty', { name })}
        size={480}
        closeButtonProps={{ 'aria-label': common('close') }}
      >
        <div className={classes.form}>
          <p className={classes.text}>{t('notEmptyAbout')}</p>
          <ul className={classes.list}>
            {members > 0 && (
              <li className={classes.item}>
                <Link href={pathIn(scope, '/members')}>{words('membersCount', shown(members))}</Link>
              </li>
            )}
            {keys === undefined ? (
              <li className="muted">{words('counting')}</li>
            ) : (
              keys > 0 && (
                <li className={classes.item}>
                  <Link href={pathIn(scope, '/keys')}>{words('keysCount', shown(keys))}</Link>
                </li>
              )
            )}
            {below > 0 && <li className={classes.item}>{t('belowCount', shown(below))}</li>}
          </ul>
          <div className={classes.acts}>
            <Button variant="default" onClick={onClose} data-autofocus>
              {common('close')}
            </Button>
          </div>
        </div>
      </Modal>
    )
  }
  return (
    <Confirm
      title={t('deleteTitle', { name })}
      act={words('delete')}
      name={name}
      onClose={onClose}
      onConfirm={async () => {
        await deleteDepartment(params.id, id)
        onDeleted()
        toast('good', t('deleted', { name }))
      }}
    >
      <p>{t('deleteAbout')}</p>
      {waiting > 0 && <p>{t('deleteInvitations', shown(waiting))}</p>}
    </Confirm>
  )
}
