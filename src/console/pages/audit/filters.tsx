import { SegmentedControl, Select } from '@mantine/core'
import type { ReactNode } from 'react'
import { SearchField } from '../../parts/search-field.tsx'
import type { Scope } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import { useFilter } from './filter.ts'
import { useAuditTexts } from './texts.ts'
import { operationsIn } from './operations.ts'
import classes from '../../parts/form.module.css'

/** The filters of the audit log: user, operation, target, outcome and time; on the platform also the enterprise. */
export function Filters({ scope }: { readonly scope: Scope }): ReactNode {
  const t = useWords('audit')
  const filter = useFilter(scope)
  const { whatOf, people, enterprises } = useAuditTexts(scope)
  const isPlatform = scope.kind === 'platform'
  const operations = operationsIn(scope, filter.isOfAll).map((one) => ({ value: one, label: whatOf(one) }))
  operations.sort((a, b) => a.label.localeCompare(b.label))
  return (
    <div className={classes.tools}>
      {isPlatform && (
        <SegmentedControl
          aria-label={t('of.label')}
          value={filter.isOfAll ? 'all' : 'platform'}
          data={(['platform', 'all'] as const).map((one) => ({ value: one, label: t(`of.${one}`) }))}
          onChange={(next) => {
            filter.set('of', next === 'all' ? next : null)
          }}
        />
      )}
      <SearchField
        value={filter.valueOf('target')}
        label={t('target')}
        placeholder={t('target')}
        width={180}
        onSearch={(text) => {
          filter.set('target', text === '' ? null : text, 'replace')
        }}
      />
      <Choice
        label={t('columns.who')}
        none={t('everybody')}
        value={filter.valueOf('user')}
        known={people}
        width={150}
        onChange={(next) => {
          filter.set('user', next)
        }}
      />
      <Choice
        label={t('columns.what')}
        none={t('everything')}
        value={filter.valueOf('operation')}
        known={operations}
        width={190}
        onChange={(next) => {
          filter.set('operation', next)
        }}
      />
      {isPlatform && (
        <Choice
          label={t('columns.enterprise')}
          none={t('everywhere')}
          value={filter.valueOf('enterprise')}
          known={enterprises}
          width={170}
          onChange={(next) => {
            filter.set('enterprise', next)
          }}
        />
      )}
      <SegmentedControl
        aria-label={t('columns.outcome')}
        value={filter.valueOf('outcome') === '' ? 'all' : filter.valueOf('outcome')}
        data={(['all', 'done', 'refused'] as const).map((one) => ({ value: one, label: t(`outcomes.${one}`) }))}
        onChange={(next) => {
          filter.set('outcome', next === 'all' ? null : next)
        }}
      />
      <SegmentedControl
        aria-label={t('range')}
        value={filter.range ?? 'all'}
        data={(['24h', '7d', '30d', 'all'] as const).map((one) => ({ value: one, label: t(`ranges.${one}`) }))}
        onChange={(next) => {
          filter.set('range', next === 'all' ? null : next)
        }}
      />
    </div>
  )
}

interface ChoiceProps {
  readonly label: string
  /** Shown while nothing is chosen. */
  readonly none: string
  readonly value: string
  readonly known: ReadonlyArray<{ readonly value: string; readonly label: string }>
  readonly width: number
  readonly onChange: (value: string | null) => void
}

/** One of the known; a value of the URL that is not known is shown as it is. */
function Choice({ label, none, value, known, width, onChange }: ChoiceProps): ReactNode {
  const isKnown = value === '' || known.some((one) => one.value === value)
  return (
    <Select
      aria-label={label}
      placeholder={none}
      value={value === '' ? null : value}
      data={isKnown ? known : [...known, { value, label: value }]}
      searchable
      clearable
      w={width}
      clearButtonProps={{ 'aria-label': none }}
      onChange={onChange}
    />
  )
}
