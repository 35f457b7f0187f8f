import { NumberInput, Switch, TagsInput } from '@mantine/core'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { Facts } from '../../parts/facts.tsx'
import { SaveActs } from '../../parts/form-end.tsx'
import { useWords } from '../../words/index.ts'
import { useDraft } from './section-draft.ts'
import type { SettingsProps } from './section-draft.ts'
import classes from '../../parts/form.module.css'

const DAYS = 30
const MAX_DAYS = 365

interface CaptureDraft {
  readonly requests: boolean
  readonly answers: boolean
  /** Percent. */
  readonly sample: number
  readonly redact: readonly string[]
  readonly retain_days: number
}

export function Capture(props: SettingsProps): ReactNode {
  const t = useWords('settings')
  const { capture } = props.enterprise
  const [edits, setEdits] = useState<Partial<CaptureDraft>>({})
  const stored: CaptureDraft = {
    requests: capture?.requests ?? false,
    answers: capture?.answers ?? false,
    sample: Math.round((capture?.sample ?? 1) * 10_000) / 100,
    redact: capture?.redact ?? [],
    retain_days: capture?.retain_days ?? DAYS,
  }
  const values = { ...stored, ...edits }
  const isOn = values.requests || values.answers
  const draft = useDraft<CaptureDraft>(
    props,
    [],
    edits,
    () => {
      setEdits({})
    },
    () => ({
      capture: isOn ? { ...values, redact: [...values.redact], sample: values.sample / 100 } : null,
    }),
  )
  const set = (change: Partial<CaptureDraft>): void => {
    setEdits({ ...edits, ...change })
  }
  return (
    <form className={classes.form} noValidate onSubmit={draft.save}>
      <Switch
        label={t('captureRequests')}
        checked={values.requests}
        onChange={(event) => {
          set({ requests: event.currentTarget.checked })
        }}
      />
      <Switch
        label={t('captureAnswers')}
        checked={values.answers}
        onChange={(event) => {
          set({ answers: event.currentTarget.checked })
        }}
      />
      {isOn && (
        <>
          <div className={classes.pair}>
            <NumberInput
              label={t('sample')}
              value={values.sample}
              min={0}
              max={100}
              suffix=" %"
              hideControls
              onChange={(value) => {
                set({ sample: Number(value) || 0 })
              }}
            />
            <NumberInput
              label={t('retain')}
              value={values.retain_days}
              min={1}
              max={MAX_DAYS}
              allowDecimal={false}
              hideControls
              onChange={(value) => {
                set({ retain_days: Number(value) || 1 })
              }}
            />
          </div>
          <TagsInput
            label={t('redact')}
            description={t('redactHint')}
            value={[...values.redact]}
            splitChars={[]}
            acceptValueOnBlur
            onChange={(redact) => {
              set({ redact })
            }}
          />
        </>
      )}
      <SaveActs {...draft.acts} />
    </form>
  )
}

export function CaptureFacts({ enterprise: { capture } }: SettingsProps): ReactNode {
  const t = useWords('settings')
  const yes = (value: boolean | undefined): string => (value === true ? t('on') : t('off'))
  return (
    <Facts
      rows={[
        [t('captureRequests'), yes(capture?.requests)],
        [t('captureAnswers'), yes(capture?.answers)],
      ]}
    />
  )
}
