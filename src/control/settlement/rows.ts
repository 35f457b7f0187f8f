import type { Choice, Standing } from '../../shared/core/deployment.ts'
import type { AttemptRecord, BeginRecord, EndRecord, RequestIdentity } from '../../shared/core/request-record.ts'
import { emptyUsage } from '../../shared/core/usage.ts'
import type { Usage } from '../../shared/core/usage.ts'
import type { RequestLogRow } from '../store/request-log.ts'
import { storableText } from '../store/text.ts'

// Days outside are a broken clock, and each would get a partition of its own.
export const FIRST_MS = Date.UTC(2000, 0)
export const LAST_MS = Date.UTC(2100, 0)
export const MAX_STATUS = 999
export const MAX_ID_LENGTH = 200

/** Micro-units that the answer of an upstream costs; called once for each row. */
export type PriceOf = (providerId: string | null, servedModel: string | null, usage: Usage) => number

export const FREE: PriceOf = () => 0

type EndFields = Omit<EndRecord, keyof RequestIdentity>

/** What is known of the end of a request whose process ended before: nothing. */
const NO_END: EndFields = {
  kind: 'end',
  status: 0,
  errorType: 'server_error',
  errorCode: null,
  providerId: null,
  upstreamKeyId: null,
  servedModel: null,
  attempts: [],
  usage: emptyUsage(),
  settlement: 'interrupted',
  aborted: false,
  queueUs: 0,
  ttftUs: null,
  totalUs: 0,
  overheadUs: 0,
}

/** Throws a RangeError that says why the record can be no row. */
export function rowOfEnd(record: EndRecord, node: string, priceOf: PriceOf = FREE): RequestLogRow {
  const tokens = wholeUsage(record.usage)
  return {
    atMs: timeOfDay(record.atMs),
    id: checkedId(record.id),
    node,
    endpoint: storableText(record.endpoint),
    dialect: storableText(record.dialect),
    keyId: textOrNull(record.keyId),
    keyMasked: textOrNull(record.keyMasked),
    userId: textOrNull(record.userId),
    enterpriseId: textOrNull(record.enterpriseId),
    departmentId: textOrNull(record.departmentId),
    memberId: textOrNull(record.memberId),
    model: textOrNull(record.model),
    stream: record.stream,
    userAgent: storableText(record.userAgent),
    clientAddress: storableText(record.clientAddress),
    clientRequestId: textOrNull(record.clientRequestId),
    traceId: textOrNull(record.traceId),
    servedModel: textOrNull(record.servedModel),
    providerId: textOrNull(record.providerId),
    upstreamKeyId: textOrNull(record.upstreamKeyId),
    attempts: record.attempts.map(storableAttempt),
    status: httpStatus(record.status),
    errorType: textOrNull(record.errorType),
    errorCode: textOrNull(record.errorCode),
    aborted: record.aborted,
    promptTokens: tokens.promptTokens,
    completionTokens: tokens.completionTokens,
    cachedTokens: tokens.cachedTokens,
    cacheWriteTokens: tokens.cacheWriteTokens,
    reasoningTokens: tokens.reasoningTokens,
    costMicro: wholeCount('costMicro', priceOf(record.providerId, record.servedModel, tokens)),
    settlement: storableText(record.settlement),
    queueUs: wholeCount('queueUs', record.queueUs),
    ttftUs: record.ttftUs === null ? null : wholeCount('ttftUs', record.ttftUs),
    totalUs: wholeCount('totalUs', record.totalUs),
    overheadUs: wholeCount('overheadUs', record.overheadUs),
  }
}

function wholeUsage(usage: Usage): Usage {
  return {
    promptTokens: wholeCount('promptTokens', usage.promptTokens),
    completionTokens: wholeCount('completionTokens', usage.completionTokens),
    cachedTokens: wholeCount('cachedTokens', usage.cachedTokens),
    cacheWriteTokens: wholeCount('cacheWriteTokens', usage.cacheWriteTokens),
    reasoningTokens: wholeCount('reasoningTokens', usage.reasoningTokens),
  }
}

/** The row of a request whose process ended before it did: nobody knows what was sent or what it used. */
export function rowOfInterrupted(record: BeginRecord, node: string): RequestLogRow {
  return { ...rowOfEnd({ ...record, ...NO_END }, node), status: null, errorCode: 'INTERRUPTED' }
}

/** Throws a RangeError for an id that cannot be a key of a table. */
export function checkedId(id: string): string {
  if (id === '' || id.length > MAX_ID_LENGTH) throw new RangeError(`an id of ${id.length} characters`)
  return storableText(id)
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
  if (!Number.isInteger(status) || status < 0 || status > MAX_STATUS) throw new RangeError(`status ${status}`)
  return status
}

/** Clocks may run backwards a little and times be fractions: those are mended. What no table can hold is refused. */
export function wholeCount(name: string, value: number): number {
  const rounded = Math.max(0, Math.round(value))
  if (!Number.isSafeInteger(rounded)) throw new RangeError(`${name} ${value}`)
  return rounded
}
