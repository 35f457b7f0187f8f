import { Button, Modal } from '@mantine/core'
import { useState } from 'react'
import type { FormEvent, ReactNode } from 'react'
import { failureOf } from '../../api/failures.ts'
import { FormEnd } from '../../parts/form-end.tsx'
import type { Scope } from '../../shell/scope.ts'
import { useZone } from '../../shell/zone.tsx'
import { useWords } from '../../words/index.ts'
import { createKey } from './key-calls.ts'
import type { KeyBody, NewKey } from './key-calls.ts'
import { bodyOf, EMPTY_DRAFT, errorsOf } from './key-draft.ts'
import type { DraftErrors, KeyDraft } from './key-draft.ts'
import { KeyFields } from './key-form.tsx'
import { ShownOnce } from './shown-once.tsx'
import classes from './key-form.module.css'

interface CreateKeyProps {
  readonly scope: Scope
  readonly onClose: () => void
}

/** Asks for the key, then shows it once. It is left only by its button: a stray click must not lose the key. */
export function CreateKey({ scope, onClose }: CreateKeyProps): ReactNode {
  const t = useWords('keys')
  const common = useWords('common')
  const { zone, now } = useZone()
  const [draft, setDraft] = useState<KeyDraft>(EMPTY_DRAFT)
  const [errors, setErrors] = useState<DraftErrors>({})
  const [cause, setCause] = useState<unknown>(null)
  const [isBusy, setIsBusy] = useState(false)
  const [made, setMade] = useState<NewKey | null>(null)
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault()
    const found = errorsOf(draft, zone, now)
    setErrors(found)
    setCause(null)
    if (Object.keys(found).length > 0) return
    setIsBusy(true)
    try {
      setMade(await createKey(scope, withoutNulls(bodyOf(draft, zone)) as KeyBody))
    } catch (failed) {
      setCause(failed)
    } finally {
      setIsBusy(false)
    }
  }
  const failure = cause === null ? null : failureOf(cause)
  const field = failure?.field ?? null
  const isAtField = field !== null && Object.hasOwn(EMPTY_DRAFT, field)
  return (
    <Modal
      opened
      onClose={onClose}
      title={made === null ? t('create') : t('created', { name: made.name })}
      size={made === null ? 520 : 640}
      closeOnClickOutside={false}
      closeOnEscape={made === null}
      closeButtonProps={{ 'aria-label': common('close') }}
    >
      {made === null ? (
        <form
          className={classes.form}
          noValidate
          onSubmit={(event) => {
            void submit(event)
          }}
        >
          <KeyFields
            scope={scope}
            draft={draft}
            errors={errors}
            told={isAtField ? { field, text: failure?.detail ?? failure?.title ?? '' } : null}
            onChange={(change) => {
              setDraft({ ...draft, ...change })
              setErrors({})
            }}
          />
          <FormEnd cause={isAtField ? null : cause}>
            <Button variant="default" onClick={onClose}>
              {common('cancel')}
            </Button>
            <Button type="submit" loading={isBusy}>
              {t('create')}
            </Button>
          </FormEnd>
        </form>
      ) : (
        <div className={classes.form}>
          <ShownOnce scope={scope} secret={made.key} models={made.models} />
          <div className={classes.acts}>
            <Button variant="default" onClick={onClose}>
              {t('saved')}
            </Button>
          </div>
        </div>
      )}
    </Modal>
  )
}

function withoutNulls(body: object): object {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null))
}
