import { Button, Modal, Select, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { ReactNode } from 'react'
import type { UrlState } from '../../parts/url-state.ts'
import { useWords } from '../../words/index.ts'
import { DEFAULT_RANGE, RANGES } from './filter.ts'
import type { LogFilter, Range } from './filter.ts'
import classes from './requests-page.module.css'

const CUSTOM = 'custom'

/** A range that moves with the clock, or two fixed ends. */
export function RangeSelect({ filter, url }: { readonly filter: LogFilter; readonly url: UrlState }): ReactNode {
  const t = useWords('requests')
  const common = useWords('common')
  const isFixed = filter.from !== null || filter.to !== null
  const [isOpen, setIsOpen] = useState(false)
  return (
    <>
      <Select
        aria-label={t('range')}
        value={isFixed ? CUSTOM : filter.range}
        data={[
          ...(Object.keys(RANGES) as Range[]).map((range) => ({ value: range, label: t(`ranges.${range}`) })),
          { value: CUSTOM, label: t('ranges.custom') },
        ]}
        w={160}
        onOptionSubmit={(value) => {
          // Chosen again, it is changed.
          if (value === CUSTOM) setIsOpen(true)
          else url.set({ range: value === DEFAULT_RANGE ? null : value, from: null, to: null })
        }}
      />
      <Modal
        opened={isOpen}
        onClose={() => {
          setIsOpen(false)
        }}
        title={t('ranges.custom')}
        size={400}
        closeButtonProps={{ 'aria-label': common('close') }}
      >
        <FixedRange
          filter={filter}
          onDone={(from, to) => {
            setIsOpen(false)
            url.set({ range: null, from, to })
          }}
        />
      </Modal>
    </>
  )
}

interface FixedRangeProps {
  readonly filter: LogFilter
  readonly onDone: (from: string | null, to: string | null) => void
}

function FixedRange({ filter, onDone }: FixedRangeProps): ReactNode {
  const t = useWords('requests')
  const [from, setFrom] = useState(filter.from ?? '')
  const [to, setTo] = useState(filter.to ?? '')
  const isTime = (text: string): boolean => text.trim() === '' || !Number.isNaN(Date.parse(text))
  const fixed = (text: string): string | null => (text.trim() === '' ? null : new Date(text).toISOString())
  return (
    <form
      className={classes.custom}
      onSubmit={(event) => {
        event.preventDefault()
        if (isTime(from) && isTime(to)) onDone(fixed(from), fixed(to))
      }}
    >
      <TextInput
        label={t('from')}
        description={t('timeHint')}
        placeholder="2026-11-25T08:00Z"
        value={from}
        error={isTime(from) ? undefined : t('timeWrong')}
        onChange={(event) => {
          setFrom(event.currentTarget.value)
        }}
      />
      <TextInput
        label={t('to')}
        placeholder="2026-11-25T20:00Z"
        value={to}
        error={isTime(to) ? undefined : t('timeWrong')}
        onChange={(event) => {
          setTo(event.currentTarget.value)
        }}
      />
      <Button type="submit">{t('apply')}</Button>
    </form>
  )
}
