import { NumberInput, Switch, TagsInput } from '@mantine/core'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { Facts } from '../../parts/facts.tsx'
import { SaveActs } from '../../parts/form-end.tsx'
import { useWords } from '../../words/index.ts'
import { captureBodyOf, captureDraftOf } from './capture-draft.ts'
import type { CaptureDraft } from './capture-draft.ts'
import { useDraft } from './section-draft.ts'
import type { SettingsProps } from './section-draft.ts'
import classes from '../../parts/form.module.css'

const MAX_DAYS = 365

export function Capture(props: SettingsProps): ReactNode {
  const t = useWords('settings')
  const [edits, setEdits] = useState<Partial<CaptureDraft>>({})
  const values = { ...captureDraftOf(props.enterprise.capture), ...edits }
  const isOn = values.requests || values.answers
  const draft = useDraft<CaptureDraft>(
    props,
    [],
    edits,
    () => {
      setEdits({})
    },
    () => ({ capture: captureBodyOf(values) }),
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
      )}
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
