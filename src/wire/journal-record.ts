import { Packr } from 'msgpackr'
import type { Choice, Standing } from '../core/deployment.ts'
import type { AttemptRecord, BeginRecord, EndRecord, JournalRecord, RequestIdentity } from '../core/request-record.ts'

/**
 * A record as msgpack: an array of its fields in a fixed order, the kind first. Against a map with the field names it is
 * less than half the size. New fields go at the end of the array, with a default for frames that lack them.
 */
const BEGIN = 1
const END = 2
const IDENTITY_FIELDS = 16
const END_FIELDS = IDENTITY_FIELDS + 18

// No shared record structures: each frame must decode alone, whatever came before it.
const packr = new Packr({ useRecords: false, int64AsType: 'number' })

/** Valid until the next call of any msgpackr encoder at the earliest; copy what is kept. */
export function packValue(value: unknown): Buffer {
  return packr.pack(value)
}

/** Throws on what is not msgpack. */
export function unpackValue(bytes: Uint8Array): unknown {
  return packr.unpack(bytes)
}

export function encodeRecord(record: JournalRecord): Buffer {
  return packr.pack(record.kind === 'begin' ? beginFields(record) : endFields(record))
}

/** Throws when the bytes are not a record; the values of its fields have the right types afterwards, not more. */
export function decodeRecord(bytes: Uint8Array): JournalRecord {
  const fields: unknown = packr.unpack(bytes)
  if (!Array.isArray(fields)) throw new Error('not an array of fields')
  const [kind] = fields as unknown[]
  if (kind === BEGIN && fields.length >= IDENTITY_FIELDS) return decodeBegin(fields)
  if (kind === END && fields.length >= END_FIELDS) return decodeEnd(fields)
  throw new Error(`no record of kind ${String(kind)} with ${fields.length} fields`)
}

function beginFields(record: BeginRecord): unknown[] {
  const fields = identityFields(BEGIN, record)
  fields.push(record.traceId)
  return fields
}

function identityFields(kind: number, record: RequestIdentity): unknown[] {
  return [
    kind,
    record.id,
    record.atMs,
    record.endpoint,
    record.dialect,
    record.keyId,
    record.keyMasked,
    record.userId,
    record.enterpriseId,
    record.departmentId,
    record.memberId,
    record.model,
    record.stream,
    record.userAgent,
    record.clientAddress,
    record.clientRequestId,
  ]
}

function endFields(record: EndRecord): unknown[] {
  const { usage } = record
  const fields = identityFields(END, record)
  fields.push(
    record.status,
    record.errorType,
    record.errorCode,
    record.providerId,
    record.upstreamKeyId,
    record.servedModel,
    record.attempts.map((attempt) => attemptFields(attempt, record.servedModel)),
    usage.promptTokens,
    usage.completionTokens,
    usage.cachedTokens,
    usage.cacheWriteTokens,
    usage.reasoningTokens,
    record.settlement,
    record.aborted,
    record.queueUs,
    record.ttftUs,
    record.totalUs,
    record.overheadUs,
    record.traceId,
  )
  return fields
}

/** Nearly always, the model of an attempt is the one that served: it is not written twice. */
const AS_SERVED = 0

function attemptFields(attempt: AttemptRecord, servedModel: string | null): unknown[] {
  const { providerId, upstreamKeyId, status, outcome, startUs, durationUs, model, choice } = attempt
  const fields: unknown[] = [
    providerId,
    upstreamKeyId,
    status,
    outcome,
    startUs,
    durationUs,
    model === servedModel ? AS_SERVED : model,
  ]
  if (choice !== null) fields.push(choice.how, choice.score, choice.waitUs, choice.others)
  return fields
}

// The unions below (endpoint, settlement, …) are not checked against their members: a newer front may know more of them.

function decodeBegin(fields: readonly unknown[]): BeginRecord {
  return {
    kind: 'begin',
    id: text(fields[1]),
    atMs: number(fields[2]),
    endpoint: text(fields[3]) as RequestIdentity['endpoint'],
    dialect: text(fields[4]) as RequestIdentity['dialect'],
    keyId: textOrNull(fields[5]),
    keyMasked: textOrNull(fields[6]),
    userId: textOrNull(fields[7]),
    enterpriseId: textOrNull(fields[8]),
    departmentId: textOrNull(fields[9]),
    memberId: textOrNull(fields[10]),
    model: textOrNull(fields[11]),
    stream: boolean(fields[12]),
    userAgent: text(fields[13]),
    clientAddress: text(fields[14]),
    clientRequestId: textOrNull(fields[15]),
    traceId: textOrNull(fields[16] ?? null),
  }
}

// One literal: with the identity spread into it, V8 builds a slow object and decoding takes 35 µs instead of 2.
function decodeEnd(fields: readonly unknown[]): EndRecord {
  return {
    kind: 'end',
    id: text(fields[1]),
    atMs: number(fields[2]),
    endpoint: text(fields[3]) as RequestIdentity['endpoint'],
    dialect: text(fields[4]) as RequestIdentity['dialect'],
    keyId: textOrNull(fields[5]),
    keyMasked: textOrNull(fields[6]),
    userId: textOrNull(fields[7]),
    enterpriseId: textOrNull(fields[8]),
    departmentId: textOrNull(fields[9]),
    memberId: textOrNull(fields[10]),
    model: textOrNull(fields[11]),
    stream: boolean(fields[12]),
    userAgent: text(fields[13]),
    clientAddress: text(fields[14]),
    clientRequestId: textOrNull(fields[15]),
    traceId: textOrNull(fields[34] ?? null),
    status: number(fields[16]),
    errorType: textOrNull(fields[17]) as EndRecord['errorType'],
    errorCode: textOrNull(fields[18]) as EndRecord['errorCode'],
    providerId: textOrNull(fields[19]),
    upstreamKeyId: textOrNull(fields[20]),
    servedModel: textOrNull(fields[21]),
    attempts: list(fields[22]).map((attempt) => decodeAttempt(attempt, textOrNull(fields[21]))),
    usage: {
      promptTokens: number(fields[23]),
      completionTokens: number(fields[24]),
      cachedTokens: number(fields[25]),
      cacheWriteTokens: number(fields[26]),
      reasoningTokens: number(fields[27]),
    },
    settlement: text(fields[28]) as EndRecord['settlement'],
    aborted: boolean(fields[29]),
    queueUs: number(fields[30]),
    ttftUs: fields[31] === null ? null : number(fields[31]),
    totalUs: number(fields[32]),
    overheadUs: number(fields[33]),
  }
}

function decodeAttempt(value: unknown, servedModel: string | null): AttemptRecord {
  const fields = list(value)
  return {
    providerId: text(fields[0]),
    upstreamKeyId: text(fields[1]),
    status: number(fields[2]),
    outcome: text(fields[3]) as AttemptRecord['outcome'],
    startUs: number(fields[4]),
    durationUs: number(fields[5]),
    model: decodeModel(fields[6], servedModel),
    choice: fields[7] === undefined ? null : decodeChoice(fields),
  }
}

function decodeModel(value: unknown, servedModel: string | null): string | null {
  if (value === AS_SERVED) return servedModel
  return value === undefined ? null : textOrNull(value)
}

function decodeChoice(fields: readonly unknown[]): Choice {
  return {
    how: text(fields[7]) as Choice['how'],
    score: fields[8] === null ? null : number(fields[8]),
    waitUs: number(fields[9]),
    others: list(fields[10]).map(decodeOther),
  }
}

function decodeOther(value: unknown): Choice['others'][number] {
  const [keyId, why] = list(value)
  return [text(keyId), typeof why === 'number' ? why : (text(why) as Standing)]
}

function text(value: unknown): string {
  if (typeof value !== 'string') throw new Error(`a ${typeof value} where text belongs`)
  return value
}

function textOrNull(value: unknown): string | null {
  return value === null ? null : text(value)
}

function number(value: unknown): number {
  if (typeof value !== 'number') throw new Error(`a ${typeof value} where a number belongs`)
  return value
}

function boolean(value: unknown): boolean {
  if (typeof value !== 'boolean') throw new Error(`a ${typeof value} where a boolean belongs`)
  return value
}

function list(value: unknown): unknown[] {
  if (!Array.isArray(value)) throw new Error(`a ${typeof value} where a list belongs`)
  return value
}
