import { SegmentedControl } from '@mantine/core'
import type { ReactNode } from 'react'
import { useWords } from '../words/index.ts'
import { PERIODS } from './periods.ts'
import type { Period } from './periods.ts'

interface PeriodChoiceProps {
  /** Null: a period of another kind. */
  readonly value: Period | null
  readonly onChange: (period: Period) => void
}

export function PeriodChoice({ value, onChange }: PeriodChoiceProps): ReactNode {
  const t = useWords('common')
  return (
    <SegmentedControl
      aria-label={t('period.label')}
      value={value ?? ''}
      data={(Object.keys(PERIODS) as Period[]).map((one) => ({ value: one, label: t(`period.${one}`) }))}
      onChange={(chosen) => {
        onChange(chosen as Period)
      }}
    />
  )
}
