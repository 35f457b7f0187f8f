import type { UpstreamFailure } from '../../core/dialect.ts'
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
}

const COMPLETED = new Set(['completed', 'succeeded', 'success', 'done'])
const FAILED = new Set(['failed', 'error', 'cancelled', 'canceled', 'expired', 'rejected'])
const REFUSED = /moderation|safety|policy|invalid_request|invalid_prompt|user_error|content_filter/i

/** Reads a look at a job; words it does not know mean that it is under way. Throws SyntaxError when it is not JSON. */
export function readJob(body: Buffer): VendorJob {
  const value: unknown = JSON.parse(body.toString('utf8'))
  const answer = asObject(value)
  if (answer === null) throw new SyntaxError('not a job')
  const word = typeof answer['status'] === 'string' ? answer['status'].toLowerCase() : ''
  const progress = typeof answer['progress'] === 'number' ? answer['progress'] : null
  if (COMPLETED.has(word)) return { status: 'completed', progress, failure: null, isRefused: false }
  if (!FAILED.has(word)) {
    const status = word === 'queued' || word === 'pending' ? 'queued' : 'in_progress'
    return { status, progress, failure: null, isRefused: false }
  }
  const failure = failureOf(value)
  const code = valueAt(answer, 'error', 'code')
  const isRefused = REFUSED.test(failure.type) || (typeof code === 'string' && REFUSED.test(code))
  return { status: 'failed', progress, failure, isRefused }
}
