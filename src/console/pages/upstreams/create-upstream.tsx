import { Autocomplete, PasswordInput, TagsInput, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { countOf } from '../../format/numbers.ts'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { toast } from '../../parts/toasts.tsx'
import { useSubmission } from '../../parts/submission.ts'
import { useWords } from '../../words/index.ts'
import { createUpstream } from './upstream-calls.ts'
import { DIALECTS, PROVIDERS } from './upstream-draft.ts'
import classes from '../../parts/form.module.css'

interface Draft {
  readonly id: string
  readonly provider: string
  readonly base_url: string
  readonly dialect: string
  readonly models: readonly string[]
  readonly keys: string
  readonly max_concurrency: string
}

const EMPTY: Draft = { id: '', provider: '', base_url: '', dialect: '', models: [], keys: '', max_concurrency: '' }

const EXAMPLE = 'https://models.example.com/v1'

interface CreateUpstreamProps {
  readonly onClose: () => void
  readonly onCreated: (id: string) => void
}

/** Asks for a host and its first key. The settings of known providers need not be typed. */
export function CreateUpstream({ onClose, onCreated }: CreateUpstreamProps): ReactNode {
  const t = useWords('upstreams')
  const [draft, setDraft] = useState(EMPTY)
  const [isChecked, setIsChecked] = useState(false)
  const submission = useSubmission(Object.keys(EMPTY))
  const { toldOf } = submission
  const isNamed = draft.id.trim() !== ''
  const most = draft.max_concurrency.trim() === '' ? null : countOf(draft.max_concurrency)
  const isCount = draft.max_concurrency.trim() === '' || most !== null
  const text = (field: Exclude<keyof Draft, 'models'>) => ({
    label: t(`fields.${field}`),
    description: t(`hints.${field}`),
    value: draft[field],
    error: toldOf(field),
    autoComplete: 'off',
    spellCheck: false,
    onChange: (event: React.ChangeEvent<HTMLInputElement>) => {
      setDraft({ ...draft, [field]: event.currentTarget.value })
    },
  })
  const choice = (field: 'provider' | 'dialect', data: readonly string[]) => ({
    ...text(field),
    data: [...data],
    comboboxProps: { shadow: 'md' },
    onChange: (value: string) => {
      setDraft({ ...draft, [field]: value })
    },
  })
  const submit = async (): Promise<void> => {
    setIsChecked(true)
    if (!isNamed || !isCount) return
    const id = draft.id.trim()
    const given = (['provider', 'base_url', 'dialect'] as const).flatMap((name) =>
      draft[name].trim() === '' ? [] : [[name, draft[name].trim()] as const],
    )
    const key = { credential: draft.keys, ...(most === null ? {} : { max_concurrency: most }) }
    const isDone = await submission.run(() =>
      createUpstream({
        id,
        ...Object.fromEntries(given),
        ...(draft.models.length === 0 ? {} : { models: [...draft.models] }),
        ...(draft.keys === '' ? {} : { keys: [key] }),
      }),
    )
    if (!isDone) return
    toast('good', t('created', { name: id }))
    onCreated(id)
  }
  return (
    <FormDialog
      title={t('create')}
      act={t('create')}
      submission={submission}
      onClose={onClose}
      onSubmit={() => {
        void submit()
      }}
    >
      <TextInput {...text('id')} error={isChecked && !isNamed ? t('errors.id') : toldOf('id')} data-autofocus />
      <Autocomplete {...choice('provider', PROVIDERS)} />
      <TextInput {...text('base_url')} placeholder={EXAMPLE} inputMode="url" />
      <Autocomplete {...choice('dialect', DIALECTS)} />
      <TagsInput
        label={t('fields.models')}
        description={t('hints.models')}
        value={[...draft.models]}
        error={toldOf('models')}
        splitChars={[',', ' ']}
        acceptValueOnBlur
        onChange={(models) => {
          setDraft({ ...draft, models })
        }}
      />
      <div className={classes.pair}>
        <PasswordInput
          {...text('keys')}
          autoComplete="new-password"
          visibilityToggleButtonProps={{ 'aria-label': t('showCredential') }}
        />
        <TextInput
          {...text('max_concurrency')}
          error={isChecked && !isCount ? t('errors.count') : toldOf('max_concurrency')}
          inputMode="numeric"
          placeholder="1000"
        />
      </div>
    </FormDialog>
  )
}
