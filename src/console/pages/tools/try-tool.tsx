import { Select, Switch, Textarea, TextInput } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import type { ReactNode } from 'react'
import type { ToolResult } from '../../../client/index.ts'
import { useRead } from '../../api/queries.ts'
import { callTool } from '../../api/session.ts'
import { Badge } from '../../parts/badge.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { useSubmission } from '../../parts/submission.ts'
import { useWords } from '../../words/index.ts'
import { Choice, KEY_ID } from './choice.tsx'
import { fieldsOf, inputOf, isValid } from './tool-input.ts'
import type { ToolDraft, ToolField } from './tool-input.ts'
import classes from './tool-list.module.css'

/** The argument that names the key of a call. */
const KEY_ARGUMENT = 'sluice_key_id'
const MOST_KEYS = 100

interface TryToolProps {
  /** The name for clients. */
  readonly name: string
  readonly schema: object
  readonly onClose: () => void
}

/** Calls a tool with a form made from its schema, and shows its answer. */
export function TryTool({ name, schema, onClose }: TryToolProps): ReactNode {
  const t = useWords('tools')
  const fields = fieldsOf(schema)
  const [draft, setDraft] = useState<ToolDraft>({})
  const [isChecked, setIsChecked] = useState(false)
  const [result, setResult] = useState<ToolResult | null>(null)
  const [keyId, setKeyId] = useState<string | null>(null)
  const keys = useRead('listKeys', { query: { limit: MOST_KEYS, sort: 'last_used' } }).data?.data
  const submission = useSubmission([...fields.map((field) => field.name), KEY_ARGUMENT])
  const running = useRef<AbortController | null>(null)
  useEffect(
    () => () => {
      running.current?.abort()
    },
    [],
  )
  const submit = async (): Promise<void> => {
    setIsChecked(true)
    if (!fields.every((field) => isValid(field, draft[field.name] ?? ''))) return
    setResult(null)
    const controller = new AbortController()
    running.current = controller
    await submission.run(async () => {
      const paid = keyId === null ? {} : { [KEY_ARGUMENT]: keyId }
      setResult(await callTool(name, { ...inputOf(fields, draft), ...paid }, controller.signal))
    })
  }
  return (
    <FormDialog
      title={t('tryTitle', { tool: name })}
      act={t('tryRun')}
      submission={submission}
      size={600}
      isDone={result !== null}
      onClose={onClose}
      onSubmit={() => {
        void submit()
      }}
    >
      {fields.length === 0 && <p style={{ margin: 0 }}>{t('noInput')}</p>}
      {fields.map((field) => (
        <Field
          key={field.name}
          field={field}
          value={draft[field.name] ?? ''}
          error={isChecked && !isValid(field, draft[field.name] ?? '') ? t(`errors.${errorOf(field)}`) : undefined}
          onChange={(value) => {
            setDraft({ ...draft, [field.name]: value })
          }}
        />
      ))}
      <Choice
        label={t('payingKey')}
        none={t('onlyKey')}
        value={keyId}
        data={(keys ?? []).filter(({ enabled }) => enabled)}
        idForm={KEY_ID}
        error={submission.toldOf(KEY_ARGUMENT)}
        onChange={setKeyId}
      />
      {result !== null && (
        <div role="status">
          <p style={{ margin: '0 0 8px' }}>
            {result.isError ? (
              <Badge tone="bad" icon="alert">
                {t('testFailed')}
              </Badge>
            ) : (
              <Badge tone="good" icon="check">
                {t('answered')}
              </Badge>
            )}
          </p>
          <pre className={classes.answer} tabIndex={0} aria-label={t('answer')}>
            {textOf(result)}
          </pre>
        </div>
      )}
    </FormDialog>
  )
}

function errorOf({ kind }: ToolField): 'json' | 'count' | 'required' {
  if (kind === 'json') return 'json'
  return kind === 'integer' || kind === 'number' ? 'count' : 'required'
}

interface FieldProps {
  readonly field: ToolField
  readonly value: string
  readonly error: string | undefined
  readonly onChange: (value: string) => void
}

function Field({ field: { name, kind, about, isRequired, choices }, value, error, onChange }: FieldProps): ReactNode {
  const shared = { label: name, description: about, error, required: isRequired } as const
  if (kind === 'switch') {
    return (
      <Switch
        {...shared}
        checked={value === 'true'}
        onChange={(event) => {
          onChange(event.currentTarget.checked ? 'true' : '')
        }}
      />
    )
  }
  if (kind === 'choice') {
    return (
      <Select
        {...shared}
        value={value}
        data={[...choices]}
        onChange={(chosen) => {
          onChange(chosen ?? '')
        }}
      />
    )
  }
  const typed = {
    ...shared,
    value,
    autoComplete: 'off',
    spellCheck: false,
    onChange: (event: { readonly currentTarget: { readonly value: string } }) => {
      onChange(event.currentTarget.value)
    },
  }
  if (kind === 'json') return <Textarea {...typed} rows={4} placeholder="{}" />
  return <TextInput {...typed} inputMode={kind === 'text' ? 'text' : 'decimal'} />
}

function textOf({ content, structuredContent }: ToolResult): string {
  const texts = content.map((part) => part.text ?? JSON.stringify(part, null, 2))
  return structuredContent === undefined || texts.length > 0
    ? texts.join('\n')
    : JSON.stringify(structuredContent, null, 2)
}
