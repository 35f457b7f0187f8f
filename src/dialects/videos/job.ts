import type { UpstreamFailure } from '../../shared/core/dialect.ts'
import { failureOf } from '../failure.ts'
import { asObject, valueAt } from '../json-value.ts'

/** A job as its provider tells of it. */
export interface VendorJob {
  readonly status: 'queued' | 'in_progress' | 'completed' | 'failed'
  /** Per cent; null: it does not say. */
  readonly progress: number | null
  /** Set when it has failed. */
  readonly failure: UpstreamFailure | null
  /** It failed because of what was asked for. */
  readonly isRefused: boolean
  /** Address of the video; null: there is none, or it is known without a look. */
  readonly source: string | null
}

/** What a provider says of a job, wherever it says it. */
interface Told {
  readonly word: unknown
  readonly progress?: unknown
  /** Holds the reason when it has failed. */
  readonly about?: unknown
  readonly source?: unknown
}

const COMPLETED = new Set(['completed', 'succeeded', 'success', 'succeed', 'done'])
const FAILED = new Set(['failed', 'fail', 'error', 'cancelled', 'canceled', 'expired', 'rejected', 'unknown'])
const QUEUED = new Set(['queued', 'pending', 'submitted'])
const REFUSED =
  /moderation|safety|policy|sensitive|inspection|invalid_request|invalid_prompt|invalid_argument|user_error|content_filter/i

/** Words it does not know mean that the job is under way. */
export function jobOf({ word, progress, about, source }: Told): VendorJob {
  const known = typeof word === 'string' ? word.toLowerCase() : ''
  const job = {
    progress: typeof progress === 'number' ? progress : null,
    failure: null,
    isRefused: false,
    source: typeof source === 'string' && source !== '' ? source : null,
  }
  if (COMPLETED.has(known)) return { ...job, status: 'completed' }
  if (!FAILED.has(known)) return { ...job, status: QUEUED.has(known) ? 'queued' : 'in_progress' }
  const failure = failureOf(about)
  const code = valueAt(about, 'error', 'code') ?? valueAt(about, 'code')
  const isRefused = REFUSED.test(failure.type) || (typeof code === 'string' && REFUSED.test(code))
  return { ...job, status: 'failed', failure, isRefused, source: null }
}

/** A job that the provider would not do, for this reason. */
export function refusedJob(message: string): VendorJob {
  const failure = { message, type: 'moderation' }
  return { status: 'failed', progress: null, failure, isRefused: true, source: null }
}

/** Throws SyntaxError when a look shows something else than an object. */
export function lookAt(answer: unknown): Readonly<Record<string, unknown>> {
  const object = asObject(answer)
  if (object === null) throw new SyntaxError('not a job')
  return object
}
