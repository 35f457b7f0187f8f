import { Button, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { FormEvent, ReactNode } from 'react'
import { Link } from 'wouter'
import { useRead } from '../../api/queries.ts'
import { exact } from '../../format/numbers.ts'
import { Id } from '../../parts/copy.tsx'
import { enterpriseIdOf, useDepartments, useEnterprise } from '../../parts/enterprise.ts'
import type { Department } from '../../parts/enterprise.ts'
import { Facts, Section } from '../../parts/facts.tsx'
import { Icon } from '../../parts/icons.tsx'
import { LimitFields } from '../../parts/limit-fields.tsx'
import { limitBodyOf, limitDraftOf, limitErrorsOf, LIMIT_FIELDS } from '../../parts/limits.ts'
import type { LimitDraft, LimitErrors } from '../../parts/limits.ts'
import { SpendMeter } from '../../parts/meter.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Failed } from '../../parts/states.tsx'
import { toast } from '../../parts/toasts.tsx'
import { useSubmission } from '../../parts/submission.ts'
import { told } from '../../parts/told.ts'
import { Time, useLocale } from '../../parts/values.tsx'
import { mayIn, pathIn } from '../../shell/scope.ts'
import type { Scope } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import { chainAbove, own } from './budget-chain.ts'
import { BudgetList } from './budget-list.tsx'
import { DeleteDepartment } from './delete-department.tsx'
import { updateDepartment, useDepartmentDetail } from './department-calls.ts'
import type { DepartmentChange } from './department-calls.ts'
import { MoveDepartment } from './move-department.tsx'
import classes from '../../parts/form.module.css'
import { HolderLinks } from '../../parts/holder-links.tsx'
import { SaveActs } from '../../parts/form-end.tsx'

const SHOWN_MEMBERS = 8

interface DepartmentPanelProps {
  readonly scope: Scope
  readonly departmentId: string
  readonly onClose: () => void
}

export function DepartmentPanel({ scope, departmentId, onClose }: DepartmentPanelProps): ReactNode {
  const t = useWords('departments')
  const detail = useDepartmentDetail(enterpriseIdOf(scope), departmentId)
  const department = detail.data?.data
  return (
    <Panel title={department?.name ?? t('department')} label={t('department')} onClose={onClose}>
      {department !== undefined && (
        <DepartmentDetail
          key={departmentId}
          scope={scope}
          department={department}
          etag={detail.data?.etag ?? null}
          onClose={onClose}
        />
      )}
      {department === undefined && detail.isError && (
        <Failed
          cause={detail.error}
          retry={() => {
            void detail.refetch()
          }}
        />
      )}
    </Panel>
  )
}

interface DepartmentDetailProps {
  readonly scope: Scope
  readonly department: Department
  readonly etag: string | null
  readonly onClose: () => void
}

type Dialog = 'move' | 'delete'

function DepartmentDetail({ scope, department, etag, onClose }: DepartmentDetailProps): ReactNode {
  const t = useWords('departments')
  const words = useWords('enterprise')
  const departments = useDepartments(scope) ?? []
  const enterprise = useEnterprise(scope).data
  const [dialog, setDialog] = useState<Dialog | null>(null)
  const canManage = mayIn(scope, 'departments.manage')
  const at = encodeURIComponent(department.id)
  const close = (): void => {
    setDialog(null)
  }
  const parent = departments.find(({ id }) => id === department.parent_id)
  return (
    <>
      <Facts
        rows={[
          [t('parent'), parent?.name ?? words('enterpriseItself')],
          [t('columns.spend'), <SpendMeter key="spend" spend={department.spend} />],
          [t('created_at'), <Time key="created" at={department.created_at} />],
          [words('id'), <Id key="id" id={department.id} label={words('copyId')} />],
        ]}
      />
      <div className={classes.buttons}>
        <HolderLinks scope={scope} kind="department" id={department.id} />
        {canManage && (
          <>
            <Button
              variant="default"
              component={Link}
              href={`${pathIn(scope, '/departments/new')}?below=${at}`}
              leftSection={<Icon name="plus" size={14} />}
            >
              {t('createBelow')}
            </Button>
            <Button
              variant="default"
              leftSection={<Icon name="switch" size={14} />}
              onClick={() => {
                setDialog('move')
              }}
            >
              {t('move')}
            </Button>
            <Button
              variant="default"
              leftSection={<Icon name="trash" size={14} />}
              onClick={() => {
                setDialog('delete')
              }}
            >
              {words('delete')}
            </Button>
          </>
        )}
      </div>
      <Section title={t('pays')}>
        <p className="muted note">{t('paysAbout')}</p>
        <BudgetList chain={[own(department), ...chainAbove(departments, department.parent_id, enterprise)]} />
      </Section>
      <Section title={t('columns.members')}>
        <Members scope={scope} department={department} />
      </Section>
      {canManage ? (
        <Section title={words('settings')}>
          <DepartmentSettings scope={scope} department={department} etag={etag} />
        </Section>
      ) : (
        <p className="muted note">{t('readOnly')}</p>
      )}
      {dialog === 'move' && <MoveDepartment scope={scope} department={department} onClose={close} />}
      {dialog === 'delete' && (
        <DeleteDepartment scope={scope} department={department} onClose={close} onDeleted={onClose} />
      )}
    </>
  )
}

function Members({ scope, department }: { readonly scope: Scope; readonly department: Department }): ReactNode {
  const t = useWords('departments')
  const common = useWords('common')
  const words = useWords('enterprise')
  const locale = useLocale()
  const { data, isError, error } = useRead('listMembers', {
    params: { id: enterpriseIdOf(scope) },
    query: { department_id: department.id, limit: SHOWN_MEMBERS },
  })
  if (isError) return <Failed cause={error} />
  if (data === undefined) return <p className="muted note">{words('counting')}</p>
  if (data.total === 0) return <p className="muted note">{t('noMembers')}</p>
  const more = data.total - data.data.length
  return (
    <ul className={classes.list}>
      {data.data.map(({ id, user, role }) => (
        <li key={id} className={classes.item}>
          <Link href={pathIn(scope, `/members/${encodeURIComponent(id)}`)}>{user.name}</Link>
          <span className="muted note">{common(`roles.${role}`)}</span>
        </li>
      ))}
      {more > 0 && <li className="muted note">{words('more', { shown: exact(more, locale) })}</li>}
    </ul>
  )
}

interface DepartmentDraft extends LimitDraft {
  readonly name: string
}

/** Edits lie over the department as it is: a change by somebody else meanwhile touches only what is not edited. */
function DepartmentSettings({ scope, department, etag }: Omit<DepartmentDetailProps, 'onClose'>): ReactNode {
  const t = useWords('departments')
  const words = useWords('enterprise')
  const act = useSubmission([...LIMIT_FIELDS, 'name'])
  const [edits, setEdits] = useState<Partial<DepartmentDraft>>({})
  const [errors, setErrors] = useState<LimitErrors>({})
  const draft: DepartmentDraft = { ...limitDraftOf(department), name: department.name, ...edits }
  const change = (more: Partial<DepartmentDraft>): void => {
    setEdits({ ...edits, ...more })
    setErrors({})
  }
  const isNameless = draft.name.trim() === ''
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault()
    const { name, ...limits } = edits
    const found = limitErrorsOf(limits)
    setErrors(found)
    if (Object.keys(found).length > 0 || isNameless) return
    const body: DepartmentChange = { ...limitBodyOf(limits), ...(name === undefined ? {} : { name: name.trim() }) }
    const id = enterpriseIdOf(scope)
    if (!(await act.run(() => updateDepartment(id, department.id, body, etag)))) return
    setEdits({})
    const names = Object.keys(body) as Array<keyof Department & keyof DepartmentChange>
    const back = Object.fromEntries(names.map((one) => [one, department[one]]))
    toast('good', words('changed'), () => {
      told(updateDepartment(id, department.id, back))
    })
  }
  return (
    <form
      className={classes.form}
      noValidate
      onSubmit={(event) => {
        void submit(event)
      }}
    >
      <TextInput
        label={t('name')}
        value={draft.name}
        maxLength={100}
        autoComplete="off"
        error={isNameless ? t('nameMissing') : act.toldOf('name')}
        onChange={(event) => {
          change({ name: event.currentTarget.value })
        }}
      />
      <LimitFields scope={scope} draft={draft} errors={errors} toldOf={act.toldOf} onChange={change} />
      <SaveActs
        isEdited={Object.keys(edits).length > 0}
        isBusy={act.isBusy}
        cause={act.cause}
        onDiscard={() => {
          setEdits({})
          setErrors({})
          act.forget()
        }}
      />
    </form>
  )
}
