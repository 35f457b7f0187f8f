import { PasswordInput, Select, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { useSubmission } from '../../parts/submission.ts'
import { toast } from '../../parts/toasts.tsx'
import { useWords } from '../../words/index.ts'
import { accessDraftOf, accessError, accessOf } from './access-draft.ts'
import type { AccessDraft } from './access-draft.ts'
import { AccessFields } from './access-fields.tsx'
import { createServer } from './tool-calls.ts'

const TEXTS = ['id', 'url', 'authorization'] as const
type Text = (typeof TEXTS)[number]
const TRANSPORTS = ['http', 'sse'] as const
const EXAMPLE = 'https://tools.example.com/mcp'

interface NewServerProps {
  readonly onClose: () => void
  readonly onCreated: (id: string) => void
}

/** Registers a server of tools. Its credential is written only. */
export function NewServer({ onClose, onCreated }: NewServerProps): ReactNode {
  const t = useWords('tools')
  const [draft, setDraft] = useState<Readonly<Record<Text, string>>>({ id: '', url: '', authorization: '' })
  const [transport, setTransport] = useState<(typeof TRANSPORTS)[number]>('http')
  const [access, setAccess] = useState<AccessDraft>(accessDraftOf([]))
  const [isChecked, setIsChecked] = useState(false)
  const submission = useSubmission([...TEXTS, 'transport', 'headers', 'access'])
  const id = draft.id.trim()
  const url = draft.url.trim()
  const field = (name: Text, error?: string) => ({
    label: t(`fields.${name}`),
    description: t(`hints.${name}`),
    value: draft[name],
    error: error ?? submission.toldOf(name === 'authorization' ? 'headers' : name),
    autoComplete: 'off',
    spellCheck: false,
    onChange: (event: React.ChangeEvent<HTMLInputElement>) => {
      setDraft({ ...draft, [name]: event.currentTarget.value })
    },
  })
  const submit = async (): Promise<void> => {
    setIsChecked(true)
    if (id === '' || url === '' || accessError(access) !== null) return
    const { authorization } = draft
    const isDone = await submission.run(() =>
      createServer({
        id,
        url,
        transport,
        ...(authorization === '' ? {} : { headers: { authorization } }),
        access: accessOf(access),
      }),
    )
    if (!isDone) return
    toast('good', t('created', { id }))
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
      <TextInput {...field('id', isChecked && id === '' ? t('errors.id') : undefined)} data-autofocus />
      <TextInput
        {...field('url', isChecked && url === '' ? t('errors.url') : undefined)}
        inputMode="url"
        placeholder={EXAMPLE}
      />
      <Select
        label={t('fields.transport')}
        value={transport}
        error={submission.toldOf('transport')}
        allowDeselect={false}
        data={TRANSPORTS.map((value) => ({ value, label: t(`transports.${value}`) }))}
        onChange={(value) => {
          setTransport(TRANSPORTS.find((one) => one === value) ?? 'http')
        }}
      />
      <PasswordInput
        {...field('authorization')}
        autoComplete="new-password"
        visibilityToggleButtonProps={{ 'aria-label': t('showCredential') }}
      />
      <AccessFields
        access={access}
        isChecked={isChecked}
        error={isChecked && accessError(access) === 'noRules' ? t('errors.noRules') : submission.toldOf('access')}
        onChange={setAccess}
      />
    </FormDialog>
  )
}
