import type { UpstreamFailure } from '../../shared/core/dialect.ts'
import { failureOf } from '../common/failure.ts'
import { asObject, valueAt } from '../common/json-value.ts'

/** The state of a job as its provider reports it. */
export interface VendorJob {
  readonly status: 'queued' | 'in_progress' | 'completed' | 'failed'
  /** Percent; null when the provider does not say. */
  readonly progress: number | null
  /** Set when the job has failed. */
  readonly failure: UpstreamFailure | null
  /** The job failed because of the request. */
  readonly isRefused: boolean
  /** URL of the video; null when there is none, or when the URL is known without reading the job. */
  readonly source: string | null
}

/** The data that a provider gives about a job, in any place of its answer. */
interface JobReport {
  readonly word: unknown
  readonly progress?: unknown
  /** Holds the reason of a failure. */
  readonly about?: unknown
  readonly source?: unknown
}

const COMPLETED = new Set(['completed', 'succeeded', 'success', 'succeed', 'done'])
const FAILED = new Set(['failed', 'fail', 'error', 'cancelled', 'canceled', 'expired', 'rejected', 'unknown'])
const QUEUED = new Set(['queued', 'pending', 'submitted'])
const REFUSED =
  /moderation|safety|policy|sensitive|inspection|invalid_request|invalid_prompt|invalid_argument|user_error|content_filter/i

/** An unknown status means that the job is in progress. */
export function jobOf({ word, progress, about, source }: JobReport): VendorJob {
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

/** A job that the provider refused, for this reason. */
export function refusedJob(message: string): VendorJob {
  const failure = { message, type: 'moderation' }
  return { status: 'failed', progress: null, failure, isRefused: true, source: null }
}

/** Throws SyntaxError when a job's state is not an object. */
export function lookAt(answer: unknown): Readonly<Record<string, unknown>> {
  const object = asObject(answer)
  if (object === null) throw new SyntaxError('the state of the job is not a JSON object')
  return object
}
