import type { Choice, Standing } from '../../shared/core/deployment.ts'
import type { AttemptRecord } from '../../shared/core/request-record.ts'
import type { Tags } from '../../shared/core/tags.ts'
import type { Usage } from '../../shared/core/usage.ts'
import type { LogFieldsWith, NamedLogField } from '../../shared/records/log-fields.ts'
import type { RecordFields } from '../../journal/record.ts'
import type { LogRow } from '../store/log-rows.ts'
import { LOG_COLUMNS } from '../store/request-log.ts'
import type { RequestLogRow } from '../store/request-log.ts'
import { storableText } from '../store/text.ts'

// A time outside this range comes from a broken clock, and its day would get its own partition.
const FIRST_MS = Date.UTC(2000, 0)
const LAST_MS = Date.UTC(2100, 0)
const MAX_STATUS = 999
const MAX_ID_LENGTH = 200

/** Returns the cost of an upstream's answer in micro-units; called once for each row. */
export type PriceOf = (providerId: string | null, servedModel: string | null, usage: Usage) => number

export const FREE: PriceOf = () => 0

/** The fields that the settler adds to those of a record. */
type Added = Pick<RequestLogRow, Exclude<keyof RequestLogRow, LogFieldsWith<{ readonly end: number }>>>

/** Values for a request whose process ended before it. Any other field is null, false or 0. */
const INTERRUPTED: Partial<RequestLogRow> = {
  errorType: 'server_error',
  errorCode: 'INTERRUPTED',
  status: null,
  attempts: [],
  settlement: 'interrupted',
}

/** The index of a field in a row. Loading fields by a variable name would take a tenth of the time of a row. */
type Place<Name> = number & { readonly of: Name }
const AT = Object.fromEntries(LOG_COLUMNS.map(({ name }, index) => [name, index])) as unknown as {
  readonly [Name in keyof RequestLogRow]: Place<Name>
}

/** Returns the row of an end record. Throws a RangeError that says why the record cannot become a row. */
export function rowOfEnd({ values }: RecordFields, node: string, priceOf: PriceOf = FREE): LogRow {
  const row = LOG_COLUMNS.map((field) => (field.end === null ? null : storable(field, values[field.end])))
  const costMicro =
    of(row, AT.callCostMicro) ??
    wholeCount('costMicro', priceOf(of(row, AT.providerId), of(row, AT.servedModel), usageOf(row)))
  return withAdded(row, { node, costMicro })
}

/** Returns the row of a request whose process ended before it: its answer and its usage are unknown. */
export function rowOfInterrupted({ values }: RecordFields, node: string): LogRow {
  const row = LOG_COLUMNS.map((field) =>
    field.begin === null ? (INTERRUPTED[field.name] ?? blank(field)) : storable(field, values[field.begin]),
  )
  return withAdded(row, { node, costMicro: 0 })
}

function withAdded(row: unknown[], added: Added): LogRow {
  row[AT.node] = added.node
  row[AT.costMicro] = added.costMicro
  return {
    values: row,
    id: of(row, AT.id),
    atMs: of(row, AT.atMs),
    endpoint: of(row, AT.endpoint),
    keyId: of(row, AT.keyId),
    userId: of(row, AT.userId),
    enterpriseId: of(row, AT.enterpriseId),
    departmentId: of(row, AT.departmentId),
    memberId: of(row, AT.memberId),
    model: of(row, AT.model),
    providerId: of(row, AT.providerId),
    upstreamKeyId: of(row, AT.upstreamKeyId),
    status: of(row, AT.status),
    aborted: of(row, AT.aborted),
    promptTokens: of(row, AT.promptTokens),
    completionTokens: of(row, AT.completionTokens),
    cachedTokens: of(row, AT.cachedTokens),
    cacheWriteTokens: of(row, AT.cacheWriteTokens),
    reasoningTokens: of(row, AT.reasoningTokens),
    costMicro: added.costMicro,
    queueUs: of(row, AT.queueUs),
    ttftUs: of(row, AT.ttftUs),
    totalUs: of(row, AT.totalUs),
    overheadUs: of(row, AT.overheadUs),
  }
}

function of<Name extends keyof RequestLogRow>(row: readonly unknown[], place: Place<Name>): RequestLogRow[Name] {
  return row[place] as RequestLogRow[Name]
}

function usageOf(row: readonly unknown[]): Usage {
  return {
    promptTokens: of(row, AT.promptTokens),
    completionTokens: of(row, AT.completionTokens),
    cachedTokens: of(row, AT.cachedTokens),
    cacheWriteTokens: of(row, AT.cacheWriteTokens),
    reasoningTokens: of(row, AT.reasoningTokens),
  }
}

/** Converts a value for its column. */
function storable({ name, type }: NamedLogField, value: unknown): unknown {
  if (value === null) return null
  switch (type) {
    case 'id':
      return checkedId(value as string)
    case 'time':
      return timeOfDay(value as number)
    case 'text':
      return storableText(value as string)
    case 'status':
      return httpStatus(value as number)
    case 'flag':
      return value
    case 'attempts':
      return (value as AttemptRecord[]).map(storableAttempt)
    case 'tags':
      return storableTags(value as Tags)
    default:
      return wholeCount(name, value as number)
  }
}

function blank({ type, isNullable }: NamedLogField): unknown {
  if (isNullable || type === 'status') return null
  return type === 'flag' ? false : 0
}

/** Throws a RangeError for an id that cannot be a key of a table. */
export function checkedId(id: string): string {
  if (id === '' || id.length > MAX_ID_LENGTH) {
    throw new RangeError(`an id has ${id.length} characters; the range is 1 to ${MAX_ID_LENGTH}`)
  }
  return storableText(id)
}

function storableTags(tags: Tags): RequestLogRow['tags'] {
  return Object.fromEntries(tags.map(([name, value]) => [storableText(name), storableText(value)]))
}

function storableAttempt(attempt: AttemptRecord): AttemptRecord {
  return {
    providerId: storableText(attempt.providerId),
    upstreamKeyId: storableText(attempt.upstreamKeyId),
    status: attempt.status,
    outcome: storableText(attempt.outcome) as AttemptRecord['outcome'],
    startUs: attempt.startUs,
    durationUs: attempt.durationUs,
    model: textOrNull(attempt.model),
    choice: attempt.choice === null ? null : storableChoice(attempt.choice),
    dropped: attempt.dropped.map(storableText),
  }
}

function storableChoice({ how, score, waitUs, others }: Choice): Choice {
  return {
    how: storableText(how) as Choice['how'],
    score,
    waitUs,
    others: others.map(([keyId, why]) => [
      storableText(keyId),
      typeof why === 'number' ? why : (storableText(why) as Standing),
    ]),
  }
}

function textOrNull(text: string | null): string | null {
  return text === null ? null : storableText(text)
}

function timeOfDay(atMs: number): number {
  if (!(atMs >= FIRST_MS && atMs < LAST_MS)) throw new RangeError(`atMs ${atMs} is outside of 2000 to 2100`)
  return Math.round(atMs)
}

function httpStatus(status: number): number {
  if (!Number.isInteger(status) || status < 0 || status > MAX_STATUS) {
    throw new RangeError(`status ${status} is outside of 0 to ${MAX_STATUS}`)
  }
  return status
}

/** Rounds fractions, and raises negative durations of a clock that ran backwards to 0. Refuses values that no column can hold. */
function wholeCount(name: string, value: number): number {
  const rounded = Math.max(0, Math.round(value))
  if (!Number.isSafeInteger(rounded)) throw new RangeError(`${name} ${value} is outside of the safe integers`)
  return rounded
}
