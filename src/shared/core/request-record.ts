import type { LogFieldName, LogFieldsWith, LogValue } from '../records/log-fields.ts'
import type { Choice } from './deployment.ts'
import type { ErrorCode, ErrorType } from './errors.ts'
import type { DialectName } from './endpoint.ts'
import type { Tags } from './tags.ts'
import type { Settlement, Usage } from './usage.ts'

/** A record of the journal. A row of the request log has at most two: a begin, and an end that is complete by itself. */
export type JournalRecord = BeginRecord | EndRecord

/** Written before the request goes to the upstream. Without an end it becomes a row marked `interrupted`. */
export interface BeginRecord extends RecordFields<LogFieldsWith<{ readonly begin: number }>> {
  readonly kind: 'begin'
}

/** All fields of a row. The operating system has it before the last byte of the answer. */
export interface EndRecord extends RecordFields<Exclude<LogFieldsWith<{ readonly end: number }>, keyof Usage>> {
  readonly kind: 'end'
  readonly usage: Usage
}

type RecordFields<Names extends LogFieldName> = {
  readonly [Name in Names]: Name extends keyof Narrower ? Narrower[Name] : LogValue<Name, LogValueTypes>
}

/** Texts of which all values are known. */
interface Narrower {
  readonly dialect: DialectName
  readonly errorType: ErrorType | null
  readonly errorCode: ErrorCode | null
  readonly settlement: Settlement
}

/** Times of day are Unix milliseconds, durations microseconds, money micro-units. */
export interface LogValueTypes {
  readonly id: string
  readonly time: number
  readonly text: string
  readonly flag: boolean
  readonly status: number
  readonly count: number
  readonly money: number
  readonly attempts: readonly AttemptRecord[]
  readonly tags: Tags
}

export interface AttemptRecord {
  readonly providerId: string
  readonly upstreamKeyId: string
  /** HTTP status, 0 when none came. */
  readonly status: number
  /** `ok` or the error code of the failure. */
  readonly outcome: 'ok' | ErrorCode
  /** From the start of the request. */
  readonly startUs: number
  readonly durationUs: number
  /** The upstream's name of the model; null in records of older versions. */
  readonly model: string | null
  /** Why this key was chosen; null in records of older versions. */
  readonly choice: Choice | null
  /** Names of what translation had to leave out of the request, or of the answer. */
  readonly dropped: readonly string[]
}
