import { useState } from 'react'
import type { ReactNode } from 'react'
import { Facts } from '../../parts/facts.tsx'
import { LimitFields } from '../../parts/limit-fields.tsx'
import { limitBodyOf, limitDraftOf, limitErrorsOf, LIMIT_FIELDS } from '../../parts/limits.ts'
import type { LimitDraft, LimitErrors } from '../../parts/limits.ts'
import { SpendMeter } from '../../parts/meter.tsx'
import { SaveActs } from '../../parts/form-end.tsx'
import { Count, Money, Nothing } from '../../parts/values.tsx'
import { useWords } from '../../words/index.ts'
import { useDraft } from './section-draft.ts'
import type { SettingsProps } from './section-draft.ts'
import classes from '../../parts/form.module.css'

/** The enterprise's own budget, the platform's cap, and the one that holds. */
export function Caps({ enterprise }: SettingsProps): ReactNode {
  const t = useWords('settings')
  const words = useWords('enterprise')
  const { monthly_budget: own, platform_monthly_budget: cap } = enterprise
  const count = (value: number | null): ReactNode =>
    value === null ? (
      <Nothing why={words('limits.none')} />
    ) : (
      <>
        <Count value={value} /> <span className="muted note">{t('byPlatform')}</span>
      </>
    )
  const money = (value: number | null): ReactNode =>
    value === null ? <Nothing why={words('limits.none')} /> : <Money micro={value} />
  const holds = own === null ? cap : cap === null ? own : Math.min(own, cap)
  return (
    <Facts
      rows={[
        [t('spent'), <SpendMeter key="spend" spend={enterprise.spend} />],
        [t('ownBudget'), money(own)],
        [t('platformBudget'), money(cap)],
        [t('holds'), money(holds)],
        [words('limits.rpm'), count(enterprise.rpm)],
        [words('limits.tpm'), count(enterprise.tpm)],
        [words('limits.max_concurrency'), count(enterprise.max_concurrency)],
      ]}
    />
  )
}

export function Budgets(props: SettingsProps): ReactNode {
  const { scope, enterprise } = props
  const [edits, setEdits] = useState<Partial<LimitDraft>>({})
  const [errors, setErrors] = useState<LimitErrors>({})
  const draft = useDraft<LimitDraft>(
    props,
    LIMIT_FIELDS,
    edits,
    () => {
      setEdits({})
      setErrors({})
    },
    () => {
      const found = limitErrorsOf(edits)
      setErrors(found)
      return Object.keys(found).length > 0 ? null : limitBodyOf(edits)
    },
  )
  return (
    <form className={classes.form} noValidate onSubmit={draft.save} style={{ marginTop: 12 }}>
      <LimitFields
        scope={scope}
        draft={{ ...limitDraftOf(enterprise), ...edits }}
        errors={errors}
        toldOf={draft.toldOf}
        hasRates={false}
        onChange={(change) => {
          setEdits({ ...edits, ...change })
          setErrors({})
        }}
      />
      <SaveActs {...draft.acts} />
    </form>
  )
}
