import { useState } from 'react'
import type { FormEvent } from 'react'
import { ApiError } from '../../client/index.ts'
import { failureOf } from '../api/failures.ts'
import { wordsOf } from '../words/index.ts'

export interface Submission {
  readonly isBusy: boolean
  /** Of the last attempt, unless it is told at a field. */
  readonly cause: unknown
  /** The gateway's own words about a field of the form. */
  readonly toldOf: (field: string) => string | undefined
  /** Resolves to whether it went well. */
  readonly run: (act: () => Promise<unknown>) => Promise<boolean>
  readonly forget: () => void
}

/** Error codes that are about a field without naming it. */
type FieldCodes = Readonly<Partial<Record<string, string>>>

/**
 * The state of a form while and after it is sent. `fields` have the names of the API: an error that names one of them is told there, and so
 * is one whose code `codes` gives to a field.
 */
export function useSubmission(fields: readonly string[] = [], codes: FieldCodes = {}): Submission {
  const [isBusy, setIsBusy] = useState(false)
  const [cause, setCause] = useState<unknown>(null)
  const told = cause === null ? null : toldAt(cause, fields, codes)
  return {
    isBusy,
    cause: told === null ? cause : null,
    toldOf: (field) => (told?.field === field ? told.text : undefined),
    run: async (act) => {
      setIsBusy(true)
      setCause(null)
      try {
        await act()
        return true
      } catch (failed) {
        setCause(failed)
        return false
      } finally {
        setIsBusy(false)
      }
    },
    forget: () => {
      setCause(null)
    },
  }
}

interface Told {
  readonly field: string
  readonly text: string
}

function toldAt(cause: unknown, fields: readonly string[], codes: FieldCodes): Told | null {
  const { field, title, detail } = failureOf(cause)
  if (field !== null && fields.includes(field)) return { field, text: detail ?? title }
  const code = cause instanceof ApiError ? cause.code : null
  const found = code === null ? undefined : codes[code]
  if (found === undefined) return null
  return { field: found, text: code === 'LOGIN_FAILED' ? wordsOf('errors')('wrongPassword') : title }
}

/** For `onSubmit`: the page stays, and the act runs once. */
export function onSubmit({ isBusy, run }: Submission, act: () => Promise<unknown>): (event: FormEvent) => void {
  return (event) => {
    event.preventDefault()
    if (!isBusy) void run(act)
  }
}
