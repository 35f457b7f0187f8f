import { TagsInput, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { countOf } from '../../format/numbers.ts'
import { EditForm } from '../../parts/form-dialog.tsx'
import { useSubmission } from '../../parts/submission.ts'
import { toast } from '../../parts/toasts.tsx'
import { useWords } from '../../words/index.ts'
import { changeUpstream } from './upstream-calls.ts'
import type { Upstream, UpstreamChange } from './upstream-calls.ts'
import { modelIdsOf, modelsWith, settingOf, textSetting, TIMEOUTS } from './upstream-draft.ts'
import classes from '../../parts/form.module.css'

const TEXTS = ['name', 'base_url', 'priority'] as const
type TextField = (typeof TEXTS)[number]
type Timeout = (typeof TIMEOUTS)[number]

interface Edits {
  readonly texts: Partial<Record<TextField, string>>
  readonly timeouts: Partial<Record<Timeout, string>>
  readonly models: readonly string[] | null
}

const NONE: Edits = { texts: {}, timeouts: {}, models: null }

/** Edits lie over what is stored; an empty field goes back to the default. */
export function UpstreamSettings({
  shown,
  etag,
}: {
  readonly shown: Upstream
  readonly etag: string | null
}): ReactNode {
  const t = useWords('upstreams')
  const [edits, setEdits] = useState<Edits>(NONE)
  const [isChecked, setIsChecked] = useState(false)
  const submission = useSubmission([...TEXTS, 'models', 'timeouts'])
  const { settings } = shown
  const storedTimeouts = settingOf(settings, 'timeouts') as Partial<Record<Timeout, number>> | undefined
  const timeoutText = (name: Timeout): string => {
    const stored = storedTimeouts?.[name]
    return edits.timeouts[name] ?? (stored === undefined ? '' : String(stored))
  }
  const isWrong = (text: string): boolean => text.trim() !== '' && countOf(text) === null
  const models = edits.models ?? modelIdsOf(settings)
  const isEdited =
    Object.keys(edits.texts).length > 0 || Object.keys(edits.timeouts).length > 0 || edits.models !== null
  const submit = async (): Promise<void> => {
    setIsChecked(true)
    const { priority, ...texts } = edits.texts
    if (TIMEOUTS.some((name) => isWrong(timeoutText(name)))) return
    if (priority !== undefined && priority.trim() !== '' && !Number.isInteger(Number(priority))) return
    const timeouts = Object.fromEntries(
      TIMEOUTS.flatMap((name) => {
        const value = countOf(timeoutText(name))
        return value === null ? [] : [[name, value] as const]
      }),
    )
    const body: UpstreamChange = {
      ...Object.fromEntries(
        Object.entries(texts).map(([name, text]) => [name, text.trim() === '' ? null : text.trim()]),
      ),
      ...(priority === undefined ? {} : { priority: priority.trim() === '' ? null : Number(priority) }),
      ...(Object.keys(edits.timeouts).length === 0
        ? {}
        : { timeouts: Object.keys(timeouts).length === 0 ? null : timeouts }),
      ...(edits.models === null
        ? {}
        : { models: edits.models.length === 0 ? null : modelsWith(settings, edits.models) }),
    }
    const isDone = await submission.run(() => changeUpstream(shown.id, body, etag))
    if (!isDone) return
    setEdits(NONE)
    setIsChecked(false)
    toast('good', t('changed'))
  }
  const text = (name: TextField) => ({
    label: t(`fields.${name}`),
    description: t(`hints.${name}`),
    value: edits.texts[name] ?? textSetting(settings, name),
    error: submission.toldOf(name),
    autoComplete: 'off',
    spellCheck: false,
    onChange: (event: React.ChangeEvent<HTMLInputElement>) => {
      setEdits({ ...edits, texts: { ...edits.texts, [name]: event.currentTarget.value } })
    },
  })
  return (
    <EditForm
      submission={submission}
      isEdited={isEdited}
      onDiscard={() => {
        setEdits(NONE)
        setIsChecked(false)
      }}
      onSubmit={() => {
        void submit()
      }}
    >
      <TextInput {...text('name')} placeholder={shown.id} />
      <TextInput {...text('base_url')} placeholder={shown.base_url ?? undefined} inputMode="url" />
      <TagsInput
        label={t('fields.models')}
        description={t('hints.models')}
        value={[...models]}
        error={submission.toldOf('models')}
        splitChars={[',', ' ']}
        acceptValueOnBlur
        onChange={(next) => {
          setEdits({ ...edits, models: next })
        }}
      />
      <TextInput
        {...text('priority')}
        error={
          isChecked && !Number.isInteger(Number(edits.texts.priority ?? '0'))
            ? t('errors.integer')
            : submission.toldOf('priority')
        }
        inputMode="numeric"
        placeholder="0"
      />
      <div className={classes.pair}>
        {TIMEOUTS.map((name) => (
          <TextInput
            key={name}
            label={t(`timeouts.${name}`)}
            value={timeoutText(name)}
            error={isChecked && isWrong(timeoutText(name)) ? t('errors.count') : undefined}
            placeholder={shown.timeouts === null ? undefined : String(shown.timeouts[name])}
            rightSection={<span className="muted">{MS}</span>}
            inputMode="numeric"
            autoComplete="off"
            onChange={(event) => {
              setEdits({ ...edits, timeouts: { ...edits.timeouts, [name]: event.currentTarget.value } })
            }}
          />
        ))}
      </div>
    </EditForm>
  )
}

/** The unit, in all languages. */
const MS = 'ms'
