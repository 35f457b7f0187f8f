import { ActionIcon, Button, TagsInput, TextInput } from '@mantine/core'
import type { ReactNode } from 'react'
import { currencySign } from '../format/money.ts'
import { useCurrency } from '../shell/scope.ts'
import type { Scope } from '../shell/scope.ts'
import { useWords } from '../words/index.ts'
import { Icon } from './icons.tsx'
import type { LimitDraft, LimitErrors, ModelBudgetDraft } from './limits.ts'
import { useTopModels } from './top-models.ts'
import { useLocale } from './values.tsx'
import classes from './form.module.css'

interface LimitFieldsProps {
  readonly scope: Scope
  readonly draft: LimitDraft
  readonly errors: LimitErrors
  /** The gateway's own words about a field. */
  readonly toldOf: (field: string) => string | undefined
  readonly onChange: (change: Partial<LimitDraft>) => void
  /** Without limits per minute: the enterprise's own are set by the platform. */
  readonly hasRates?: boolean
}

/** Budgets of a month, limits per minute, and budgets for some models. */
export function LimitFields({ scope, draft, errors, toldOf, onChange, hasRates = true }: LimitFieldsProps): ReactNode {
  const t = useWords('enterprise')
  const sign = useSign()
  const errorOf = (field: string): string | undefined => {
    const error = errors[field]
    if (error !== undefined) return t(`limits.errors.${error}`)
    return toldOf(field)
  }
  const text = (field: Exclude<keyof LimitDraft, 'model_budgets'>) => ({
    label: t(`limits.${field}`),
    value: draft[field],
    error: errorOf(field),
    autoComplete: 'off',
    placeholder: t('limits.none'),
    onChange: (event: React.ChangeEvent<HTMLInputElement>) => {
      onChange({ [field]: event.currentTarget.value })
    },
  })
  const budgets = draft.model_budgets
  const change = (at: number, edit: Partial<ModelBudgetDraft>): void => {
    onChange({ model_budgets: budgets.map((one, index) => (index === at ? { ...one, ...edit } : one)) })
  }
  return (
    <>
      <div className={classes.pair}>
        <TextInput
          {...text('monthly_budget')}
          inputMode="decimal"
          leftSection={<span className="muted">{sign}</span>}
        />
        <TextInput {...text('monthly_tokens')} inputMode="numeric" />
      </div>
      {hasRates && (
        <>
          <div className={classes.pair}>
            <TextInput {...text('rpm')} inputMode="numeric" />
            <TextInput {...text('tpm')} inputMode="numeric" />
          </div>
          <div className={classes.pair}>
            <TextInput {...text('max_concurrency')} inputMode="numeric" />
          </div>
        </>
      )}
      {budgets.map((budget, at) => (
        <ModelBudget
          key={at}
          scope={scope}
          budget={budget}
          number={at + 1}
          error={errorOf(`model_budgets/${at}`) ?? (at === 0 ? errorOf('model_budgets') : undefined)}
          onChange={(edit) => {
            change(at, edit)
          }}
          onRemove={() => {
            onChange({ model_budgets: budgets.filter((_, index) => index !== at) })
          }}
        />
      ))}
      <div>
        <Button
          variant="default"
          leftSection={<Icon name="plus" size={14} />}
          onClick={() => {
            onChange({ model_budgets: [...budgets, { models: [], monthly_budget: '', monthly_tokens: '' }] })
          }}
        >
          {t('limits.addModels')}
        </Button>
      </div>
    </>
  )
}

interface ModelBudgetProps {
  readonly scope: Scope
  readonly budget: ModelBudgetDraft
  readonly number: number
  readonly error: string | undefined
  readonly onChange: (edit: Partial<ModelBudgetDraft>) => void
  readonly onRemove: () => void
}

function ModelBudget({ scope, budget, number, error, onChange, onRemove }: ModelBudgetProps): ReactNode {
  const t = useWords('enterprise')
  const sign = useSign()
  const used = useTopModels(scope, 'models') ?? []
  return (
    <div className={classes.group} role="group" aria-label={t('limits.forModels', { number })}>
      <div style={{ display: 'flex', alignItems: 'center', gap: 8 }}>
        <strong style={{ flex: 1 }}>{t('limits.forModels', { number })}</strong>
        <ActionIcon aria-label={t('limits.removeModels', { number })} onClick={onRemove}>
          <Icon name="trash" size={14} />
        </ActionIcon>
      </div>
      <TagsInput
        label={t('limits.models')}
        description={t('limits.modelsHint')}
        error={error}
        value={[...budget.models]}
        data={[...used]}
        splitChars={[',', ' ']}
        acceptValueOnBlur
        onChange={(models) => {
          onChange({ models })
        }}
      />
      <div className={classes.pair}>
        <TextInput
          label={t('limits.monthly_budget')}
          value={budget.monthly_budget}
          inputMode="decimal"
          autoComplete="off"
          placeholder={t('limits.none')}
          leftSection={<span className="muted">{sign}</span>}
          onChange={(event) => {
            onChange({ monthly_budget: event.currentTarget.value })
          }}
        />
        <TextInput
          label={t('limits.monthly_tokens')}
          value={budget.monthly_tokens}
          inputMode="numeric"
          autoComplete="off"
          placeholder={t('limits.none')}
          onChange={(event) => {
            onChange({ monthly_tokens: event.currentTarget.value })
          }}
        />
      </div>
    </div>
  )
}

function useSign(): string {
  return currencySign(useCurrency(), useLocale())
}
