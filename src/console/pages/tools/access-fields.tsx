import { Button, SegmentedControl } from '@mantine/core'
import type { ReactNode } from 'react'
import { useRead } from '../../api/queries.ts'
import { Icon } from '../../parts/icons.tsx'
import { useWords } from '../../words/index.ts'
import { AUDIENCES, EMPTY_RULE, isEmptyRule, ROLES } from './access-draft.ts'
import type { AccessDraft, RuleDraft } from './access-draft.ts'
import { Choice, KEY_ID } from './choice.tsx'
import classes from './access-fields.module.css'

const MOST = 100
const STALE_MS = 60_000
const MAX_RULES = 100

interface AccessFieldsProps {
  readonly access: AccessDraft
  /** The fault, once the form was sent: the gateway's words, or those of the form. */
  readonly error: string | undefined
  readonly isChecked: boolean
  readonly onChange: (access: AccessDraft) => void
}

/** The fields for the access to a tool server: platform admins alone, everybody, or rules. */
export function AccessFields({ access, error, isChecked, onChange }: AccessFieldsProps): ReactNode {
  const t = useWords('tools')
  const { audience, rules } = access
  const setRules = (next: readonly RuleDraft[]): void => {
    onChange({ ...access, rules: next })
  }
  return (
    <fieldset className={classes.group}>
      <legend className={classes.legend}>{t('fields.access')}</legend>
      <SegmentedControl
        aria-label={t('fields.access')}
        value={audience}
        data={AUDIENCES.map((value) => ({ value, label: t(`access.${value}`) }))}
        onChange={(value) => {
          const next = AUDIENCES.find((one) => one === value) ?? 'nobody'
          onChange({ audience: next, rules: next === 'rules' && rules.length === 0 ? [EMPTY_RULE] : rules })
        }}
      />
      <p className="muted note">{t(`accessHints.${audience}`)}</p>
      {audience === 'rules' && (
        <>
          {rules.map((rule, at) => (
            // Rules have no name of their own, and are only added at the end.
            <Rule
              key={at}
              number={at + 1}
              rule={rule}
              error={isChecked && isEmptyRule(rule) ? t('errors.emptyRule') : undefined}
              onChange={(next) => {
                setRules(rules.map((one, index) => (index === at ? next : one)))
              }}
              onRemove={() => {
                setRules(rules.filter((_, index) => index !== at))
              }}
            />
          ))}
          {rules.length < MAX_RULES && (
            <Button
              variant="default"
              size="xs"
              leftSection={<Icon name="plus" size={12} />}
              onClick={() => {
                setRules([...rules, EMPTY_RULE])
              }}
            >
              {t('rule.add')}
            </Button>
          )}
        </>
      )}
      {error !== undefined && (
        <p className={classes.error} role="alert">
          {error}
        </p>
      )}
    </fieldset>
  )
}

interface RuleProps {
  readonly number: number
  readonly rule: RuleDraft
  readonly error: string | undefined
  readonly onChange: (rule: RuleDraft) => void
  readonly onRemove: () => void
}

function Rule({ number, rule, error, onChange, onRemove }: RuleProps): ReactNode {
  const t = useWords('tools')
  const common = useWords('common')
  const enterpriseId = rule.enterprise_id ?? ''
  const ofEnterprise = { isEnabled: enterpriseId !== '', staleMs: STALE_MS }
  const params = { id: enterpriseId }
  const enterprises = useRead('adminListEnterprises', { query: { limit: MOST } }, { staleMs: STALE_MS }).data?.data
  const departments = useRead('listDepartments', { params }, ofEnterprise).data?.data
  const keys = useRead('listEnterpriseKeys', { params, query: { limit: MOST } }, ofEnterprise).data?.data
  const used = useRead(
    'adminKeyStats',
    { query: { limit: MOST, period: '30d' } },
    { isEnabled: enterpriseId === '', staleMs: STALE_MS },
  ).data?.data
  const shownKeys = (enterpriseId === '' ? used : keys) ?? []
  return (
    <div className={classes.rule} role="group" aria-label={t('rule.number', { number })}>
      <div className={classes.head}>
        <span className={classes.number}>{t('rule.number', { number })}</span>
        <Button variant="default" size="xs" aria-label={t('rule.removeOf', { number })} onClick={onRemove}>
          {t('rule.remove')}
        </Button>
      </div>
      <div className={classes.pair}>
        <Choice
          label={t('rule.role')}
          none={t('rule.anyRole')}
          value={rule.role}
          data={ROLES.map((id) => ({ id, name: common(`roles.${id}`) }))}
          onChange={(role) => {
            onChange({ ...rule, role: ROLES.find((one) => one === role) ?? null })
          }}
        />
        <Choice
          label={t('rule.enterprise')}
          none={t('rule.anyEnterprise')}
          value={rule.enterprise_id}
          data={enterprises ?? []}
          onChange={(enterprise) => {
            // A department and a key are of one enterprise.
            onChange({ ...rule, enterprise_id: enterprise, department_id: null, key_id: null })
          }}
        />
        <Choice
          label={t('rule.department')}
          none={enterpriseId === '' ? t('rule.enterpriseFirst') : t('rule.anyDepartment')}
          value={rule.department_id}
          data={departments ?? []}
          isDisabled={enterpriseId === '' && rule.department_id === null}
          onChange={(department) => {
            onChange({ ...rule, department_id: department })
          }}
        />
        <Choice
          label={t('rule.key')}
          none={t('rule.anyKey')}
          value={rule.key_id}
          data={shownKeys}
          idForm={KEY_ID}
          onChange={(key) => {
            onChange({ ...rule, key_id: key })
          }}
        />
      </div>
      {error !== undefined && (
        <p className={classes.error} role="alert">
          {error}
        </p>
      )}
    </div>
  )
}
