import { Button } from '@mantine/core'
import { useState } from 'react'
import type { FormEvent, ReactNode } from 'react'
import { Link } from 'wouter'
import { useRead } from '../../api/queries.ts'
import type { Role } from '../../api/rights.ts'
import { exact } from '../../format/numbers.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { Id } from '../../parts/copy.tsx'
import { enterpriseIdOf } from '../../parts/enterprise.ts'
import { Facts, Section } from '../../parts/facts.tsx'
import { useHolderNames } from '../../parts/holder-names.ts'
import { Icon } from '../../parts/icons.tsx'
import { LimitFields } from '../../parts/limit-fields.tsx'
import { limitBodyOf, limitDraftOf, limitErrorsOf, LIMIT_FIELDS } from '../../parts/limits.ts'
import type { LimitDraft, LimitErrors } from '../../parts/limits.ts'
import { DepartmentSelect, RoleSelect } from '../../parts/member-fields.tsx'
import { SpendMeter } from '../../parts/meter.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Failed } from '../../parts/states.tsx'
import { toast } from '../../parts/toasts.tsx'
import { useSubmission } from '../../parts/submission.ts'
import { told } from '../../parts/told.ts'
import { Nothing, Time, useLocale } from '../../parts/values.tsx'
import { mayIn, pathIn } from '../../shell/scope.ts'
import type { Scope } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import { removeMember, setStatus, updateMember, useMemberDetail } from './member-calls.ts'
import type { Member, MemberChange } from './member-calls.ts'
import { MemberState } from './member-state.tsx'
import classes from '../../parts/form.module.css'
import { HolderLinks } from '../../parts/holder-links.tsx'
import { SaveActs } from '../../parts/form-end.tsx'

const SHOWN_KEYS = 8

interface MemberPanelProps {
  readonly scope: Scope
  readonly memberId: string
  readonly onClose: () => void
}

export function MemberPanel({ scope, memberId, onClose }: MemberPanelProps): ReactNode {
  const t = useWords('members')
  const detail = useMemberDetail(enterpriseIdOf(scope), memberId)
  const member = detail.data?.data
  return (
    <Panel title={member?.user.name ?? t('member')} label={t('member')} onClose={onClose}>
      {member !== undefined && (
        <MemberDetail key={memberId} scope={scope} member={member} etag={detail.data?.etag ?? null} onClose={onClose} />
      )}
      {member === undefined && detail.isError && (
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

interface MemberDetailProps {
  readonly scope: Scope
  readonly member: Member
  readonly etag: string | null
  readonly onClose: () => void
}

function MemberDetail({ scope, member, etag, onClose }: MemberDetailProps): ReactNode {
  const t = useWords('members')
  const common = useWords('common')
  const words = useWords('enterprise')
  const names = useHolderNames(scope)
  const toggle = useMemberToggle(scope)
  const [isRemoving, setIsRemoving] = useState(false)
  const canManage = mayIn(scope, 'members.manage')
  const department = names.department(member.department_id)
  return (
    <>
      <Facts
        rows={[
          [t('columns.state'), <MemberState key="state" status={member.status} />],
          [words('role'), `${common(`roles.${member.role}`)}: ${words(`roleAbout.${member.role}`)}`],
          [t('phone'), member.user.phone ?? <Nothing key="phone" why={t('noPhone')} />],
          [words('department'), department ?? <Nothing key="none" why={t('noDepartment')} />],
          [t('columns.spend'), <SpendMeter key="spend" spend={member.spend} />],
          [t('joined'), <Time key="joined" at={member.created_at} />],
          [words('id'), <Id key="id" id={member.id} label={words('copyId')} />],
        ]}
      />
      <div className={classes.buttons}>
        <HolderLinks scope={scope} kind="member" id={member.id} />
        {canManage && (
          <>
            <Button
              variant="default"
              leftSection={<Icon name="power" size={14} />}
              onClick={() => {
                toggle(member)
              }}
            >
              {member.status === 'active' ? words('turnOff') : words('turnOn')}
            </Button>
            <Button
              variant="default"
              leftSection={<Icon name="trash" size={14} />}
              onClick={() => {
                setIsRemoving(true)
              }}
            >
              {t('remove')}
            </Button>
          </>
        )}
      </div>
      {mayIn(scope, 'keys.read') && (
        <Section title={t('keys')}>
          <MemberKeys scope={scope} memberId={member.id} />
        </Section>
      )}
      {canManage ? (
        <Section title={words('settings')}>
          <MemberSettings scope={scope} member={member} etag={etag} />
        </Section>
      ) : (
        <p className="muted note">{t('readOnly')}</p>
      )}
      {isRemoving && (
        <RemoveMember
          scope={scope}
          member={member}
          onClose={() => {
            setIsRemoving(false)
          }}
          onRemoved={onClose}
        />
      )}
    </>
  )
}

/** The keys that a member holds. */
function MemberKeys({
  scope,
  memberId,
  isOn = false,
}: {
  readonly scope: Scope
  readonly memberId: string
  /** Only those that are on. */
  readonly isOn?: boolean
}): ReactNode {
  const t = useWords('members')
  const words = useWords('enterprise')
  const locale = useLocale()
  const query = { member_id: memberId, limit: SHOWN_KEYS, ...(isOn ? { enabled: true } : {}) }
  const { data, isError, error } = useRead('listEnterpriseKeys', { params: { id: enterpriseIdOf(scope) }, query })
  if (isError) return <Failed cause={error} />
  if (data === undefined) return <p className="muted note">{words('counting')}</p>
  if (data.total === 0) return <p className="muted note">{isOn ? t('noKeysOn') : t('noKeys')}</p>
  const more = data.total - data.data.length
  return (
    <ul className={classes.list}>
      {data.data.map((key) => (
        <li key={key.id} className={classes.item}>
          <Link href={pathIn(scope, `/keys/${encodeURIComponent(key.id)}`)}>{key.name}</Link>
          {!key.enabled && <span className="muted note">{t('states.off')}</span>}
          <code className="muted">{key.key_masked}</code>
        </li>
      ))}
      {more > 0 && <li className="muted note">{words('more', { shown: exact(more, locale) })}</li>}
    </ul>
  )
}

interface MemberDraft extends LimitDraft {
  readonly role: Role
  readonly department_id: string
}

/** Edits lie over the member as it is: a change by somebody else meanwhile touches only what is not edited. */
function MemberSettings({ scope, member, etag }: Omit<MemberDetailProps, 'onClose'>): ReactNode {
  const words = useWords('enterprise')
  const act = useSubmission([...LIMIT_FIELDS, 'role', 'department_id'])
  const [edits, setEdits] = useState<Partial<MemberDraft>>({})
  const [errors, setErrors] = useState<LimitErrors>({})
  const draft: MemberDraft = {
    ...limitDraftOf(member),
    role: member.role,
    department_id: member.department_id ?? '',
    ...edits,
  }
  const change = (more: Partial<MemberDraft>): void => {
    setEdits({ ...edits, ...more })
    setErrors({})
  }
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault()
    const { role, department_id: departmentId, ...limits } = edits
    const found = limitErrorsOf(limits)
    setErrors(found)
    if (Object.keys(found).length > 0) return
    const body: MemberChange = {
      ...limitBodyOf(limits),
      ...(role === undefined ? {} : { role }),
      ...(departmentId === undefined ? {} : { department_id: departmentId === '' ? null : departmentId }),
    }
    const isDone = await act.run(() => updateMember(enterpriseIdOf(scope), member.id, body, etag))
    if (!isDone) return
    setEdits({})
    const back = wayBack(member, body)
    toast('good', words('changed'), () => {
      told(updateMember(enterpriseIdOf(scope), member.id, back))
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
      <RoleSelect
        scope={scope}
        value={draft.role}
        error={act.toldOf('role')}
        onChange={(role) => {
          change({ role })
        }}
      />
      <DepartmentSelect
        scope={scope}
        label={words('department')}
        none={words('noDepartment')}
        value={draft.department_id}
        error={act.toldOf('department_id')}
        onChange={(id) => {
          change({ department_id: id })
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

/** The values that a change replaced. */
function wayBack(member: Member, body: MemberChange): MemberChange {
  const names = Object.keys(body) as Array<keyof MemberChange>
  return Object.fromEntries(names.map((name) => [name, member[name]]))
}

/** Turns a member off or on, with a way back. */
export function useMemberToggle(scope: Scope): (member: Pick<Member, 'id' | 'user' | 'status'>) => void {
  const t = useWords('members')
  const id = enterpriseIdOf(scope)
  return (member) => {
    const next = member.status === 'active' ? 'disabled' : 'active'
    told(setStatus(id, member.id, next), () => {
      toast('good', t(next === 'active' ? 'turnedOn' : 'turnedOff', { name: member.user.name }), () => {
        told(setStatus(id, member.id, member.status))
      })
    })
  }
}

interface RemoveMemberProps {
  readonly scope: Scope
  readonly member: Member
  readonly onClose: () => void
  readonly onRemoved: () => void
}

/** Lists the keys that are turned off with the member. */
export function RemoveMember({ scope, member, onClose, onRemoved }: RemoveMemberProps): ReactNode {
  const t = useWords('members')
  const words = useWords('enterprise')
  const toggle = useMemberToggle(scope)
  const { name } = member.user
  return (
    <Confirm
      title={t('removeTitle', { name })}
      act={t('remove')}
      onClose={onClose}
      onConfirm={async () => {
        await removeMember(enterpriseIdOf(scope), member.id)
        onRemoved()
        toast('good', t('removed', { name }))
      }}
      instead={
        member.status === 'active' ? (
          <Button
            variant="default"
            onClick={() => {
              toggle(member)
              onClose()
            }}
          >
            {t('turnOffInstead')}
          </Button>
        ) : undefined
      }
    >
      <p>{t('removeAbout', { name })}</p>
      {mayIn(scope, 'keys.read') && (
        <div>
          <strong>{t('removeKeys')}</strong>
          <MemberKeys scope={scope} memberId={member.id} isOn />
        </div>
      )}
      {member.role === 'owner' && <p className={classes.warning}>{words('roleAbout.owner')}</p>}
    </Confirm>
  )
}
