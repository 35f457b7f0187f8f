import { ActionIcon, Button, TextInput } from '@mantine/core'
import type { ReactNode } from 'react'
import { currencySign } from '../../format/money.ts'
import { Icon } from '../../parts/icons.tsx'
import { useLocale } from '../../parts/values.tsx'
import { useCurrency } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import { EMPTY_TIER, isPrice, KINDS } from './price-draft.ts'
import { countOf } from '../../format/numbers.ts'
import type { LongTierDraft, PriceDraft, TierDraft } from './price-draft.ts'
import classes from './models-page.module.css'

interface PriceFieldsProps {
  readonly draft: PriceDraft
  readonly isChecked: boolean
  readonly told: string | undefined
  readonly onChange: (draft: PriceDraft) => void
}

/** Prices for a million tokens; of long prompts, as many tiers as there are. */
export function PriceFields({ draft, isChecked, told, onChange }: PriceFieldsProps): ReactNode {
  const t = useWords('models')
  const changeTier = (at: number, change: Partial<LongTierDraft>): void => {
    onChange({ ...draft, long: draft.long.map((tier, index) => (index === at ? { ...tier, ...change } : tier)) })
  }
  return (
    <div className={classes.tiers}>
      <Tier
        tier={draft.base}
        isChecked={isChecked}
        label={t('everyPrompt')}
        onChange={(change) => {
          onChange({ ...draft, base: { ...draft.base, ...change } })
        }}
      />
      {draft.long.map((tier, at) => (
        <fieldset key={at} className={classes.tier}>
          <legend className={classes.legend}>
            {t('longPrompts')}
            <ActionIcon
              aria-label={t('removeTier', { at: at + 1 })}
              size={24}
              onClick={() => {
                onChange({ ...draft, long: draft.long.filter((_, index) => index !== at) })
              }}
            >
              <Icon name="trash" size={14} />
            </ActionIcon>
          </legend>
          <TextInput
            label={t('above')}
            value={tier.above}
            error={isChecked && countOf(tier.above) === null ? t('errors.count') : undefined}
            inputMode="numeric"
            placeholder="200000"
            autoComplete="off"
            onChange={(event) => {
              changeTier(at, { above: event.currentTarget.value })
            }}
          />
          <Tier
            tier={tier}
            isChecked={isChecked}
            label={null}
            onChange={(change) => {
              changeTier(at, change)
            }}
          />
        </fieldset>
      ))}
      <Button
        variant="default"
        leftSection={<Icon name="plus" size={14} />}
        onClick={() => {
          onChange({ ...draft, long: [...draft.long, { ...EMPTY_TIER, above: '' }] })
        }}
      >
        {t('addTier')}
      </Button>
      {told !== undefined && (
        <p className={classes.told} role="alert">
          {told}
        </p>
      )}
    </div>
  )
}

interface TierProps {
  readonly tier: TierDraft
  readonly isChecked: boolean
  readonly label: string | null
  readonly onChange: (change: Partial<TierDraft>) => void
}

function Tier({ tier, isChecked, label, onChange }: TierProps): ReactNode {
  const t = useWords('models')
  const sign = currencySign(useCurrency(), useLocale())
  return (
    <div>
      {label !== null && <p className={classes.legend}>{label}</p>}
      <div className={classes.prices}>
        {KINDS.map((kind) => (
          <TextInput
            key={kind}
            label={t(`prices.${kind}`)}
            value={tier[kind]}
            error={isChecked && !isPrice(kind, tier[kind]) ? t('errors.price') : undefined}
            placeholder={kind === 'input' || kind === 'output' ? undefined : t('asInput')}
            leftSection={<span className="muted">{sign}</span>}
            inputMode="decimal"
            autoComplete="off"
            onChange={(event) => {
              onChange({ [kind]: event.currentTarget.value })
            }}
          />
        ))}
      </div>
    </div>
  )
}
