import { Autocomplete, Switch, TextInput } from '@mantine/core'
import type { ReactNode } from 'react'
import { useWords } from '../../words/index.ts'
import type { DraftErrors, DraftField, EnterpriseDraft } from './enterprise-draft.ts'
import classes from '../../parts/form.module.css'

interface EnterpriseFieldsProps {
  readonly draft: EnterpriseDraft
  readonly errors: DraftErrors
  readonly toldOf: (field: string) => string | undefined
  readonly currency: string
  readonly onChange: (change: Partial<EnterpriseDraft>) => void
}

const MAX_ZONES = 50
const UTC = 'UTC'

export function EnterpriseFields({ draft, errors, toldOf, currency, onChange }: EnterpriseFieldsProps): ReactNode {
  const t = useWords('enterprises')
  const field = (name: DraftField) => {
    const error = errors[name]
    return {
      label: t(`fields.${name}`),
      value: draft[name],
      error: error === undefined ? toldOf(name) : t(`errors.${error}`),
      autoComplete: 'off',
      onChange: (event: React.ChangeEvent<HTMLInputElement>) => {
        onChange({ [name]: event.currentTarget.value })
      },
    }
  }
  const limit = { placeholder: t('noLimit') } as const
  const amount = { ...limit, inputMode: 'decimal', rightSection: currency, rightSectionWidth: 48 } as const
  const count = { ...limit, inputMode: 'numeric' } as const
  return (
    <>
      <TextInput {...field('name')} maxLength={100} />
      <Autocomplete
        {...field('time_zone')}
        description={t('hints.time_zone')}
        placeholder={UTC}
        data={[UTC, ...Intl.supportedValuesOf('timeZone')]}
        limit={MAX_ZONES}
        comboboxProps={{ shadow: 'md' }}
        onChange={(value) => {
          onChange({ time_zone: value })
        }}
      />
      <Switch
        label={t('fields.is_prepaid')}
        description={t('hints.is_prepaid')}
        checked={draft.is_prepaid}
        onChange={(event) => {
          onChange({ is_prepaid: event.currentTarget.checked })
        }}
      />
      <TextInput {...field('platform_monthly_budget')} {...amount} description={t('hints.platform_monthly_budget')} />
      <TextInput {...field('monthly_budget')} {...amount} description={t('hints.monthly_budget')} />
      <div className={classes.pair}>
        <TextInput {...field('rpm')} {...count} />
        <TextInput {...field('tpm')} {...count} />
        <TextInput {...field('max_concurrency')} {...count} />
        <TextInput {...field('monthly_tokens')} {...count} />
      </div>
    </>
  )
}
