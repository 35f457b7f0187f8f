import { Packr } from 'msgpackr'
import type { AttemptRecord, JournalRecord } from '../shared/core/request-record.ts'
import { fieldsInRecord, LOG_FIELDS } from '../shared/records/log-fields.ts'
import type { Tags } from '../shared/core/tags.ts'
import type { NamedLogField } from '../shared/records/log-fields.ts'
import { decodeAttempts, writeAttempts } from './attempts.ts'
import type { MsgpackWriter } from './msgpack-writer.ts'
import { decodeTags, writeTags } from './tags.ts'
import { boolean, number, text, textOrNull } from './values.ts'

/**
 * A record is a msgpack array: the kind at place 0, then its fields at their places in the table of log fields. This is less than
 * half the size of a map with field names.
 */
const BEGIN = 1
const END = 2
/** The number of places in the oldest records, the kind included. Fields that were added later are null in older records. */
const LEAST_FIELDS = { begin: 16, end: 34 }

const LAYOUTS = { begin: fieldsInRecord('begin'), end: fieldsInRecord('end') }
const ID = LOG_FIELDS.id.begin
const SERVED_MODEL = LOG_FIELDS.servedModel.end

// The first byte in msgpack of an array with 16 or more items, and of a text of up to 31 bytes (plus its length).
const ARRAY_16 = 0xdc
const SHORT_TEXT = 0xa0
const MAX_SHORT_TEXT = 31
const MAX_ASCII = 0x7f

// No shared record structures: each frame must decode without the frames before it.
const packr = new Packr({ useRecords: false, int64AsType: 'number' })

/** The result is only valid until the next call of any msgpackr encoder: copy it to keep it. */
export function packValue(value: unknown): Buffer {
  return packr.pack(value)
}

/** Throws when the bytes are not msgpack. */
export function unpackValue(bytes: Uint8Array): unknown {
  return packr.unpack(bytes)
}

/** Writes a record at the writer's position. */
export function writeRecord(writer: MsgpackWriter, record: JournalRecord): void {
  const layout = LAYOUTS[record.kind]
  writer.array(layout.length + 1)
  writer.number(record.kind === 'begin' ? BEGIN : END)
  // A load by name costs little beside the writing of text: code written out for each field saves 0.3 µs per record.
  const values = record as unknown as Values
  const usage = record.kind === 'end' ? (record.usage as unknown as Values) : values
  for (const { name, type, isUsage } of layout) {
    const value = isUsage ? usage[name] : values[name]
    switch (type) {
      case 'id':
      case 'text':
        writer.text(value as string | null)
        break
      case 'flag':
        writer.boolean(value as boolean)
        break
      case 'attempts':
        writeAttempts(writer, value as AttemptRecord[], values['servedModel'] as string | null)
        break
      case 'tags':
        writeTags(writer, value as Tags | null)
        break
      default:
        writer.number(value as number | null)
    }
  }
}

/** A record as a list of values: the settler needs no object with names. */
export interface RecordFields {
  readonly kind: JournalRecord['kind']
  readonly id: string
  /** Indexed by the places of the fields; place 0 is not a field. A newer front may write values that an enum of this version lacks. */
  readonly values: readonly unknown[]
}

/** Throws when the bytes are not a record. Checks the types of the values, not their ranges. */
export function decodeFields(bytes: Uint8Array, start = 0, end = bytes.length): RecordFields {
  const values: unknown = packr.unpack(bytes, { start, end })
  if (!Array.isArray(values)) throw new Error('not an array of fields')
  const [code] = values as unknown[]
  const kind = code === BEGIN ? 'begin' : 'end'
  if ((code !== BEGIN && code !== END) || values.length < LEAST_FIELDS[kind]) {
    throw new Error(`a record cannot have kind ${String(code)} and ${values.length} fields`)
  }
  const layout = LAYOUTS[kind]
  while (values.length <= layout.length) values.push(null)
  for (let place = 1; place <= layout.length; place++) check(values, place, layout[place - 1] as NamedLogField)
  return { kind, id: text(values[ID]), values }
}

/** Decodes a record as it was appended. */
export function decodeRecord(bytes: Uint8Array, start = 0, end = bytes.length): JournalRecord {
  const { kind, values } = decodeFields(bytes, start, end)
  const record: Record<string, unknown> = { kind }
  const usage: Record<string, unknown> = {}
  for (const [index, { name, isUsage }] of LAYOUTS[kind].entries()) (isUsage ? usage : record)[name] = values[index + 1]
  return (kind === 'end' ? { ...record, usage } : record) as unknown as JournalRecord
}

/**
 * Reads only the id of the begin record in `bytes[start, end)`. Returns null for any other record, and for a begin record whose
 * id is not short and ASCII.
 */
export function idOfBegin(bytes: Buffer, start: number, end: number): string | null {
  const idStart = start + 5
  if (end <= idStart || bytes[start] !== ARRAY_16 || bytes[start + 3] !== BEGIN) return null
  if (bytes.readUInt16BE(start + 1) < LEAST_FIELDS.begin) return null
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

type Values = Readonly<Record<string, unknown>>

function check(values: unknown[], place: number, { type, isNullable }: NamedLogField): void {
  const value = values[place]
  if (isNullable && value === null) return
  switch (type) {
    case 'id':
    case 'text':
      text(value)
      break
    case 'flag':
      boolean(value)
      break
    case 'attempts':
      values[place] = decodeAttempts(value, textOrNull(values[SERVED_MODEL]))
      break
    case 'tags':
      values[place] = decodeTags(value)
      break
    default:
      number(value)
  }
}
