import { Checkbox, Select, TagsInput, TextInput } from '@mantine/core'
import type { ReactNode } from 'react'
import type { Scope } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import type { CaptureDraft } from './key-draft.ts'
import classes from './key-form.module.css'

interface CaptureProps {
  readonly scope: Scope
  readonly capture: CaptureDraft
  readonly error: string | undefined
  readonly onChange: (capture: CaptureDraft) => void
}

/** The bodies of requests and answers that are kept. */
export function CaptureFields({ scope, capture, error, onChange }: CaptureProps): ReactNode {
  const t = useWords('keys')
  const isEnterprise = scope.kind === 'enterprise'
  const { mode, requests, answers, sample, redact, retain_days: days } = capture
  const change = (patch: Partial<CaptureDraft>): void => {
    onChange({ ...capture, ...patch })
  }
  const isWrong = (which: 'sample' | 'days'): boolean => error === t(`errors.${which}`)
  const isOfField = isWrong('sample') || isWrong('days')
  return (
    <>
      <Select
        label={t('fields.capture')}
        description={t('hints.capture')}
        value={mode}
        error={isOfField ? undefined : error}
        allowDeselect={false}
        data={[
          { value: 'default', label: isEnterprise ? t('capture.inherit') : t('capture.off') },
          ...(isEnterprise || mode === 'off' ? [{ value: 'off', label: t('capture.never') }] : []),
          { value: 'on', label: t('capture.on') },
        ]}
        onChange={(value) => {
          if (value === 'default' || value === 'off' || value === 'on') change({ mode: value })
        }}
      />
      {mode === 'on' && (
        <>
          <Checkbox
            label={t('capture.requests')}
            checked={requests}
            onChange={(event) => {
              change({ requests: event.currentTarget.checked })
            }}
          />
          <Checkbox
            label={t('capture.answers')}
            checked={answers}
            onChange={(event) => {
              change({ answers: event.currentTarget.checked })
            }}
          />
          <div className={classes.pair}>
            <TextInput
              label={t('capture.sample')}
              value={sample}
              error={isWrong('sample') ? error : undefined}
              inputMode="decimal"
              onChange={(event) => {
                change({ sample: event.currentTarget.value })
              }}
            />
            <TextInput
              label={t('capture.days')}
              value={days}
              error={isWrong('days') ? error : undefined}
              inputMode="numeric"
              onChange={(event) => {
                change({ retain_days: event.currentTarget.value })
              }}
            />
          </div>
          <TagsInput
            label={t('capture.redact')}
            description={t('capture.redactHint')}
            value={[...redact]}
            // Patterns have commas and spaces.
            splitChars={[]}
            acceptValueOnBlur
            placeholder={redact.length === 0 ? '[A-Z]{2}[0-9]{20}' : undefined}
            onChange={(value) => {
              change({ redact: value })
            }}
          />
        </>
      )}
    </>
  )
}
