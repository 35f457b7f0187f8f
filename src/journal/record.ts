import { Packr } from 'msgpackr'
import type { Choice, Standing } from '../shared/core/deployment.ts'
import type {
  AttemptRecord,
  BeginRecord,
  EndRecord,
  JournalRecord,
  RequestIdentity,
} from '../shared/core/request-record.ts'
import { MsgpackWriter } from './msgpack-writer.ts'

/**
 * A record as msgpack: an array of its fields in a fixed order, the kind first. Against a map with the field names it is
 * less than half the size. New fields go at the end of the array, with a default for frames that lack them.
 */
const BEGIN = 1
export const END = 2
const IDENTITY_FIELDS = 16
export const END_FIELDS = IDENTITY_FIELDS + 18
const ATTEMPT_FIELDS = 7
const CHOICE_FIELDS = 4
/** More characters than what has a bounded length takes: names, codes and numbers, of a record and of an attempt. */
const FIXED_LENGTH = 256
const ATTEMPT_LENGTH = 64

// Of msgpack: what an array of 16 or more begins with, and, with its length added, a text of up to 31 bytes.
const ARRAY_16 = 0xdc
const SHORT_TEXT = 0xa0
const MAX_SHORT_TEXT = 31
const MAX_ASCII = 0x7f

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

/** Writes a record at the writer's place, where `recordBound` bytes must be free. */
export function writeRecord(writer: MsgpackWriter, record: JournalRecord): void {
  if (record.kind === 'begin') {
    writer.array(IDENTITY_FIELDS + 1)
    writeIdentity(writer, BEGIN, record)
    writer.text(record.traceId)
  } else {
    writer.array(END_FIELDS + 1)
    writeIdentity(writer, END, record)
    writeEnd(writer, record)
  }
}

/** The most bytes that a record can take. */
export function recordBound(record: JournalRecord): number {
  const key = characters(record.keyId) + characters(record.keyMasked) + characters(record.userId)
  const owner = characters(record.enterpriseId) + characters(record.departmentId) + characters(record.memberId)
  const asked = record.id.length + characters(record.model) + characters(record.clientRequestId)
  const client = record.userAgent.length + record.clientAddress.length + characters(record.traceId)
  const identity = key + owner + asked + client + FIXED_LENGTH
  if (record.kind === 'begin') return MsgpackWriter.textBytes(identity)
  let attempts = 0
  for (const { providerId, upstreamKeyId, model: served, choice, dropped } of record.attempts) {
    attempts += providerId.length + upstreamKeyId.length + characters(served) + ATTEMPT_LENGTH
    for (const [keyId] of choice?.others ?? []) attempts += keyId.length + ATTEMPT_LENGTH
    for (const name of dropped) attempts += name.length + ATTEMPT_LENGTH
  }
  const provider = characters(record.providerId) + characters(record.upstreamKeyId) + characters(record.servedModel)
  return MsgpackWriter.textBytes(identity + attempts + provider)
}

/** Throws when the bytes are not a record; the values of its fields have the right types afterwards, not more. */
export function decodeRecord(bytes: Uint8Array, start = 0, end = bytes.length): JournalRecord {
  const fields: unknown = packr.unpack(bytes, { start, end })
  if (!Array.isArray(fields)) throw new Error('not an array of fields')
  const [kind] = fields as unknown[]
  if (kind === BEGIN && fields.length >= IDENTITY_FIELDS) return decodeBegin(fields)
  if (kind === END && fields.length >= END_FIELDS) return decodeEnd(fields)
  throw new Error(`no record of kind ${String(kind)} with ${fields.length} fields`)
}

/**
 * The id of the begin in `bytes[start, end)`, without a look at the rest; null for any other record, and for a begin whose id
 * is not short and ASCII.
 */
export function idOfBegin(bytes: Buffer, start: number, end: number): string | null {
  const idStart = start + 5
  if (end <= idStart || bytes[start] !== ARRAY_16 || bytes[start + 3] !== BEGIN) return null
  if (bytes.readUInt16BE(start + 1) < IDENTITY_FIELDS) return null
  const idEnd = idStart + (byteAt(bytes, start + 4) ^ SHORT_TEXT)
  if (idEnd > idStart + MAX_SHORT_TEXT || idEnd > end) return null
  for (let at = idStart; at < idEnd; at++) {
    if (byteAt(bytes, at) > MAX_ASCII) return null
  }
  return bytes.toString('latin1', idStart, idEnd)
}

function byteAt(bytes: Buffer, index: number): number {
  return bytes[index] as number
}

function writeIdentity(writer: MsgpackWriter, kind: number, record: RequestIdentity): void {
  writer.number(kind)
  writer.text(record.id)
  writer.number(record.atMs)
  writer.text(record.endpoint)
  writer.text(record.dialect)
  writer.text(record.keyId)
  writer.text(record.keyMasked)
  writer.text(record.userId)
  writer.text(record.enterpriseId)
  writer.text(record.departmentId)
  writer.text(record.memberId)
  writer.text(record.model)
  writer.boolean(record.stream)
  writer.text(record.userAgent)
  writer.text(record.clientAddress)
  writer.text(record.clientRequestId)
}

function writeEnd(writer: MsgpackWriter, record: EndRecord): void {
  const { usage, attempts } = record
  writer.number(record.status)
  writer.text(record.errorType)
  writer.text(record.errorCode)
  writer.text(record.providerId)
  writer.text(record.upstreamKeyId)
  writer.text(record.servedModel)
  writer.array(attempts.length)
  for (const attempt of attempts) writeAttempt(writer, attempt, record.servedModel)
  writer.number(usage.promptTokens)
  writer.number(usage.completionTokens)
  writer.number(usage.cachedTokens)
  writer.number(usage.cacheWriteTokens)
  writer.number(usage.reasoningTokens)
  writer.text(record.settlement)
  writer.boolean(record.aborted)
  writer.number(record.queueUs)
  writer.number(record.ttftUs)
  writer.number(record.totalUs)
  writer.number(record.overheadUs)
  writer.text(record.traceId)
}

/** Nearly always, the model of an attempt is the one that served: it is not written twice. */
const AS_SERVED = 0

function writeAttempt(writer: MsgpackWriter, attempt: AttemptRecord, servedModel: string | null): void {
  const { model, choice, dropped } = attempt
  const hasDropped = dropped.length > 0
  const plainFields = choice === null ? ATTEMPT_FIELDS : ATTEMPT_FIELDS + CHOICE_FIELDS
  writer.array(hasDropped ? ATTEMPT_FIELDS + CHOICE_FIELDS + 1 : plainFields)
  writer.text(attempt.providerId)
  writer.text(attempt.upstreamKeyId)
  writer.number(attempt.status)
  writer.text(attempt.outcome)
  writer.number(attempt.startUs)
  writer.number(attempt.durationUs)
  if (model === servedModel) writer.number(AS_SERVED)
  else writer.text(model)
  if (choice !== null) writeChoice(writer, choice)
  else if (hasDropped) for (let i = 0; i < CHOICE_FIELDS; i++) writer.text(null)
  if (!hasDropped) return
  writer.array(dropped.length)
  for (const name of dropped) writer.text(name)
}

function writeChoice(writer: MsgpackWriter, choice: Choice): void {
  writer.text(choice.how)
  writer.number(choice.score)
  writer.number(choice.waitUs)
  writer.array(choice.others.length)
  for (const [keyId, why] of choice.others) {
    writer.array(2)
    writer.text(keyId)
    if (typeof why === 'number') writer.number(why)
    else writer.text(why)
  }
}

function characters(text: string | null): number {
  return text === null ? 0 : text.length
}

// The unions below (settlement, …) are not checked against their members: a newer front may know more of them.

function decodeBegin(fields: readonly unknown[]): BeginRecord {
  return {
    kind: 'begin',
    id: text(fields[1]),
    atMs: number(fields[2]),
    endpoint: text(fields[3]),
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
    endpoint: text(fields[3]),
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

const NOTHING: readonly string[] = []

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
    choice: fields[7] === undefined || fields[7] === null ? null : decodeChoice(fields),
    dropped: fields[11] === undefined ? NOTHING : list(fields[11]).map(text),
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
