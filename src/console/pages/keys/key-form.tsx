import { Select, TagsInput, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { useRead } from '../../api/queries.ts'
import { Icon } from '../../parts/icons.tsx'
import { mayIn } from '../../shell/scope.ts'
import type { Scope } from '../../shell/scope.ts'
import { useZone } from '../../shell/zone.tsx'
import { useWords } from '../../words/index.ts'
import { CaptureFields } from './capture-fields.tsx'
import type { DraftErrors, DraftField, KeyDraft } from './key-draft.ts'
import { MemberSelect } from './member-select.tsx'
import { ModelBudgets, useSign } from './model-budgets.tsx'
import classes from './key-form.module.css'

type ListField = 'models' | 'ip_allow' | 'client_allow' | 'mcp_tools'
type TextField = Exclude<DraftField, ListField | 'model_budgets' | 'capture'>

interface KeyFieldsProps {
  readonly scope: Scope
  readonly draft: KeyDraft
  readonly errors: DraftErrors
  /** The gateway's own words about a field. */
  readonly told: { readonly field: string; readonly text: string } | null
  readonly onChange: (change: Partial<KeyDraft>) => void
  readonly isOpen?: boolean
}

/** The fields of a key; what is seldom needed is folded. */
export function KeyFields({ scope, draft, errors, told, onChange, isOpen = false }: KeyFieldsProps): ReactNode {
  const t = useWords('keys')
  const { zone } = useZone()
  const [isUnfolded, setIsUnfolded] = useState(isOpen)
  const isEnterprise = scope.kind === 'enterprise'
  const errorOf = (field: DraftField): string | undefined => {
    const error = errors[field]
    if (error !== undefined) return t(`errors.${error}`)
    return told?.field === field ? told.text : undefined
  }
  const sign = useSign()
  const text = (field: TextField) => ({
    label: t(`fields.${field}`),
    value: draft[field],
    error: errorOf(field),
    autoComplete: 'off',
    onChange: (event: React.ChangeEvent<HTMLInputElement>) => {
      onChange({ [field]: event.currentTarget.value })
    },
  })
  const list = (field: ListField) => ({
    label: t(`fields.${field}`),
    description: t(`hints.${field}`),
    value: [...draft[field]],
    error: errorOf(field),
    splitChars: [',', ' '],
    acceptValueOnBlur: true,
    comboboxProps: { shadow: 'md' },
    onChange: (value: string[]) => {
      onChange({ [field]: value })
    },
  })
  const isTold = FOLDED.some((field) => errorOf(field) !== undefined)
  const isShown = isUnfolded || isTold
  return (
    <div className={classes.fields}>
      <TextInput {...text('name')} description={t('hints.name')} maxLength={100} data-autofocus />
      {isEnterprise && (
        <>
          <TextInput
            {...text('monthly_budget')}
            description={t('hints.monthly_budget')}
            inputMode="decimal"
            placeholder={t('noLimit')}
            leftSection={sign}
          />
          <Holder scope={scope} draft={draft} errorOf={errorOf} onChange={onChange} />
        </>
      )}
      <button
        type="button"
        className={classes.fold}
        aria-expanded={isShown}
        onClick={() => {
          setIsUnfolded(!isShown)
        }}
      >
        <Icon name={isShown ? 'chevronDown' : 'chevronRight'} size={14} />
        {t('limitsAndAccess')}
      </button>
      {isShown && (
        <>
          <div className={classes.pair}>
            <TextInput {...text('rpm')} inputMode="numeric" placeholder={t('noLimit')} />
            <TextInput {...text('tpm')} inputMode="numeric" placeholder={t('noLimit')} />
          </div>
          <div className={classes.pair}>
            <TextInput {...text('max_concurrency')} inputMode="numeric" placeholder={t('noLimit')} />
            {isEnterprise && <TextInput {...text('monthly_tokens')} inputMode="numeric" placeholder={t('noLimit')} />}
          </div>
          <TextInput {...text('expires_at')} type="date" description={t('hints.expires_at', { zone })} />
          <TagsInput {...list('models')} placeholder={draft.models.length === 0 ? t('allModels') : undefined} />
          <TagsInput {...list('ip_allow')} placeholder={draft.ip_allow.length === 0 ? '10.0.0.0/8' : undefined} />
          <TagsInput
            {...list('client_allow')}
            splitChars={[',']}
            placeholder={draft.client_allow.length === 0 ? 'codex_cli_rs/' : undefined}
          />
          <TagsInput {...list('mcp_tools')} placeholder={draft.mcp_tools.length === 0 ? t('noTools') : undefined} />
          {isEnterprise && (
            <ModelBudgets
              budgets={draft.model_budgets}
              error={errorOf('model_budgets')}
              onChange={(budgets) => {
                onChange({ model_budgets: budgets })
              }}
            />
          )}
          <CaptureFields
            scope={scope}
            capture={draft.capture}
            error={errorOf('capture')}
            onChange={(capture) => {
              onChange({ capture })
            }}
          />
        </>
      )}
    </div>
  )
}

const FOLDED: readonly DraftField[] = [
  'rpm',
  'tpm',
  'max_concurrency',
  'monthly_tokens',
  'expires_at',
  'models',
  'ip_allow',
  'client_allow',
  'mcp_tools',
  'model_budgets',
  'capture',
]

interface HolderProps {
  readonly scope: Scope & { readonly kind: 'enterprise' }
  readonly draft: KeyDraft
  readonly errorOf: (field: DraftField) => string | undefined
  readonly onChange: (change: Partial<KeyDraft>) => void
}

/** The department whose budget pays too, and the member who uses the key. */
function Holder({ scope, draft, errorOf, onChange }: HolderProps): ReactNode {
  const t = useWords('keys')
  const params = { id: scope.id }
  const departments = useRead('listDepartments', { params }, { isEnabled: mayIn(scope, 'departments.read') })
  const nobody = { value: '', label: t('nobody') }
  return (
    <div className={classes.pair}>
      <Select
        label={t('fields.department_id')}
        value={draft.department_id}
        error={errorOf('department_id')}
        searchable
        data={[nobody, ...(departments.data?.data ?? []).map(({ id, name }) => ({ value: id, label: name }))]}
        onChange={(value) => {
          onChange({ department_id: value ?? '' })
        }}
      />
      <MemberSelect
        enterpriseId={scope.id}
        isAllowed={mayIn(scope, 'members.read')}
        label={t('fields.member_id')}
        value={draft.member_id}
        nobody={t('nobody')}
        error={errorOf('member_id')}
        onChange={(memberId) => {
          onChange({ member_id: memberId })
        }}
      />
    </div>
  )
}
