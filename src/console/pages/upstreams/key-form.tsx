import { PasswordInput, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { countOf } from '../../format/numbers.ts'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { useSubmission } from '../../parts/submission.ts'
import { toast } from '../../parts/toasts.tsx'
import { useWords } from '../../words/index.ts'
import { changeUpstreamKey, createUpstreamKey } from './upstream-calls.ts'
import type { UpstreamKey } from './upstream-calls.ts'
import classes from '../../parts/form.module.css'

const FIELDS = ['name', 'credential', 'max_concurrency', 'weight', 'priority'] as const
type Field = (typeof FIELDS)[number]
type Draft = Readonly<Record<Field, string>>

interface KeyFormProps {
  readonly upstreamId: string
  /** Null: a new key. */
  readonly shown: UpstreamKey | null
  readonly onClose: () => void
}

/** A key of an upstream. Its credential is written only: an empty field keeps the one that is stored. */
export function KeyForm({ upstreamId, shown, onClose }: KeyFormProps): ReactNode {
  const t = useWords('upstreams')
  const common = useWords('common')
  const [draft, setDraft] = useState<Draft>({
    name: shown?.name ?? '',
    credential: '',
    max_concurrency: shown === null ? '' : String(shown.max_concurrency),
    weight: shown === null ? '' : String(shown.weight),
    priority: shown === null ? '' : String(shown.priority),
  })
  const [isChecked, setIsChecked] = useState(false)
  const submission = useSubmission(FIELDS)
  const wrong: Partial<Record<Field, string>> = {
    ...(shown === null && draft.credential === '' ? { credential: t('errors.credential') } : {}),
    ...(draft.max_concurrency.trim() !== '' && countOf(draft.max_concurrency) === null
      ? { max_concurrency: t('errors.count') }
      : {}),
    ...(draft.weight.trim() !== '' && !(Number(draft.weight) >= 0) ? { weight: t('errors.number') } : {}),
    ...(draft.priority.trim() !== '' && !Number.isInteger(Number(draft.priority))
      ? { priority: t('errors.integer') }
      : {}),
  }
  const field = (name: Field) => ({
    label: t(`fields.${name}`),
    value: draft[name],
    error: (isChecked ? wrong[name] : undefined) ?? submission.toldOf(name),
    spellCheck: false,
    autoComplete: 'off',
    onChange: (event: React.ChangeEvent<HTMLInputElement>) => {
      setDraft({ ...draft, [name]: event.currentTarget.value })
    },
  })
  const submit = async (): Promise<void> => {
    setIsChecked(true)
    if (Object.keys(wrong).length > 0) return
    const { name, credential } = draft
    const most = countOf(draft.max_concurrency)
    const body = {
      ...(name.trim() === '' ? {} : { name: name.trim() }),
      ...(most === null ? {} : { max_concurrency: most }),
      ...(draft.weight.trim() === '' ? {} : { weight: Number(draft.weight) }),
      ...(draft.priority.trim() === '' ? {} : { priority: Number(draft.priority) }),
    }
    const isDone = await submission.run(() =>
      shown === null
        ? createUpstreamKey(upstreamId, { credential, ...body })
        : changeUpstreamKey(upstreamId, shown.id, { ...(credential === '' ? {} : { credential }), ...body }),
    )
    if (!isDone) return
    toast('good', shown === null ? t('keyAdded') : t('keyChanged'))
    onClose()
  }
  return (
    <FormDialog
      title={shown === null ? t('addKey') : t('changeKeyTitle', { name: shown.name })}
      act={shown === null ? t('addKey') : common('save')}
      submission={submission}
      onClose={onClose}
      onSubmit={() => {
        void submit()
      }}
    >
      <PasswordInput
        {...field('credential')}
        description={shown === null ? t('hints.credential') : t('hints.credentialKept')}
        placeholder={shown?.credential_masked}
        autoComplete="new-password"
        visibilityToggleButtonProps={{ 'aria-label': t('showCredential') }}
        {...(shown === null ? { 'data-autofocus': true } : {})}
      />
      <TextInput {...field('name')} description={t('hints.keyName')} />
      <TextInput
        {...field('max_concurrency')}
        description={t('hints.max_concurrency')}
        inputMode="numeric"
        placeholder="1000"
      />
      <div className={classes.pair}>
        <TextInput {...field('weight')} description={t('hints.weight')} inputMode="decimal" placeholder="1" />
        <TextInput {...field('priority')} description={t('hints.priority')} inputMode="numeric" placeholder="0" />
      </div>
    </FormDialog>
  )
}
