import { Button, TagsInput, TextInput } from '@mantine/core'
import type { ReactNode } from 'react'
import { currencySign } from '../../format/money.ts'
import { Icon } from '../../parts/icons.tsx'
import { useLocale } from '../../parts/values.tsx'
import { useCurrency } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import { EMPTY_MODEL_BUDGET, modelBudgetError } from './key-draft.ts'
import type { ModelBudgetDraft } from './key-draft.ts'
import classes from './key-form.module.css'

const MAX_MODEL_BUDGETS = 50

/** The sign of the installation's currency, for fields of amounts. */
export function useSign(): ReactNode {
  const locale = useLocale()
  const currency = useCurrency()
  return <span className="muted">{currencySign(currency, locale)}</span>
}

interface ModelBudgetsProps {
  readonly budgets: readonly ModelBudgetDraft[]
  readonly error: string | undefined
  readonly onChange: (budgets: readonly ModelBudgetDraft[]) => void
}

/** Budgets of a month for some models, beside the budget for all. */
export function ModelBudgets({ budgets, error, onChange }: ModelBudgetsProps): ReactNode {
  const t = useWords('keys')
  const sign = useSign()
  const change = (at: number, patch: Partial<ModelBudgetDraft>): void => {
    onChange(budgets.map((budget, index) => (index === at ? { ...budget, ...patch } : budget)))
  }
  return (
    <fieldset className={classes.group}>
      <legend className={classes.legend}>{t('fields.model_budgets')}</legend>
      <p className="muted note">{t('hints.model_budgets')}</p>
      {budgets.map((budget, at) => {
        const wrong = error === undefined ? null : modelBudgetError(budget)
        return (
          // Rows have no name of their own, and are only added at the end.
          <div key={at} className={classes.budget}>
            <TagsInput
              label={t('modelBudget.models', { number: at + 1 })}
              value={[...budget.models]}
              error={wrong === 'models' ? t('errors.models') : undefined}
              splitChars={[',', ' ']}
              acceptValueOnBlur
              onChange={(models) => {
                change(at, { models })
              }}
            />
            <div className={classes.pair}>
              <TextInput
                label={t('fields.monthly_budget')}
                value={budget.monthly_budget}
                error={wrong === 'amount' || wrong === 'budget' ? t(`errors.${wrong}`) : undefined}
                inputMode="decimal"
                placeholder={t('noLimit')}
                leftSection={sign}
                onChange={(event) => {
                  change(at, { monthly_budget: event.currentTarget.value })
                }}
              />
              <TextInput
                label={t('fields.monthly_tokens')}
                value={budget.monthly_tokens}
                error={wrong === 'count' ? t('errors.count') : undefined}
                inputMode="numeric"
                placeholder={t('noLimit')}
                onChange={(event) => {
                  change(at, { monthly_tokens: event.currentTarget.value })
                }}
              />
            </div>
            <Button
              variant="default"
              size="xs"
              className={classes.remove ?? ''}
              aria-label={t('modelBudget.removeOf', { number: at + 1 })}
              onClick={() => {
                onChange(budgets.filter((_, index) => index !== at))
              }}
            >
              {t('modelBudget.remove')}
            </Button>
          </div>
        )
      })}
      {error !== undefined && budgets.every((budget) => modelBudgetError(budget) === null) && (
        <p className={classes.error} role="alert">
          {error}
        </p>
      )}
      {budgets.length < MAX_MODEL_BUDGETS && (
        <Button
          variant="default"
          size="xs"
          leftSection={<Icon name="plus" size={12} />}
          onClick={() => {
            onChange([...budgets, EMPTY_MODEL_BUDGET])
          }}
        >
          {t('modelBudget.add')}
        </Button>
      )}
    </fieldset>
  )
}
