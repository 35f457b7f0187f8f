import { PasswordInput, Select, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { useSubmission } from '../../parts/submission.ts'
import { toast } from '../../parts/toasts.tsx'
import { useWords } from '../../words/index.ts'
import { createUser } from './user-calls.ts'

const FIELDS = ['name', 'phone', 'email', 'password', 'role'] as const
type Field = (typeof FIELDS)[number]
const MIN_PASSWORD = 10

interface NewUserProps {
  readonly onClose: () => void
  readonly onCreated: (id: string) => void
}

export function NewUser({ onClose, onCreated }: NewUserProps): ReactNode {
  const t = useWords('users')
  const [draft, setDraft] = useState<Readonly<Record<Field, string>>>({
    name: '',
    phone: '',
    email: '',
    password: '',
    role: 'user',
  })
  const [isChecked, setIsChecked] = useState(false)
  const submission = useSubmission(FIELDS)
  const wrong: Partial<Record<Field, string>> = {
    ...(draft.name.trim() === '' ? { name: t('errors.name') } : {}),
    ...(draft.phone.trim() === '' ? { phone: t('errors.phone') } : {}),
    ...(draft.password.length < MIN_PASSWORD ? { password: t('errors.password') } : {}),
  }
  const field = (name: Field) => ({
    label: t(`fields.${name}`),
    value: draft[name],
    error: (isChecked ? wrong[name] : undefined) ?? submission.toldOf(name),
    autoComplete: 'off',
    onChange: (event: React.ChangeEvent<HTMLInputElement>) => {
      setDraft({ ...draft, [name]: event.currentTarget.value })
    },
  })
  const submit = async (): Promise<void> => {
    setIsChecked(true)
    if (Object.keys(wrong).length > 0) return
    const { name, phone, email, password, role } = draft
    await submission.run(async () => {
      const made = await createUser({
        name: name.trim(),
        phone: phone.trim(),
        password,
        role: role === 'admin' ? 'admin' : 'user',
        ...(email.trim() === '' ? {} : { email: email.trim() }),
      })
      toast('good', t('created', { name: made.name }))
      onCreated(made.id)
    })
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
      <TextInput {...field('name')} maxLength={100} data-autofocus />
      <TextInput {...field('phone')} description={t('hints.phone')} inputMode="tel" placeholder="+12025550100" />
      <TextInput {...field('email')} description={t('hints.email')} inputMode="email" />
      <PasswordInput
        {...field('password')}
        description={t('hints.password')}
        autoComplete="new-password"
        visibilityToggleButtonProps={{ 'aria-label': t('showPassword') }}
      />
      <Select
        label={t('fields.role')}
        description={t(`rolesAbout.${draft.role === 'admin' ? 'admin' : 'user'}`)}
        value={draft.role}
        error={submission.toldOf('role')}
        allowDeselect={false}
        data={(['user', 'admin'] as const).map((value) => ({ value, label: t(`roles.${value}`) }))}
        onChange={(role) => {
          setDraft({ ...draft, role: role ?? 'user' })
        }}
      />
    </FormDialog>
  )
}
