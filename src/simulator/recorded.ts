import { isRecord } from './json.ts'
import { everyByte, seededPieces } from './raw-player.ts'
import { statusLine } from './response-head.ts'

/** An answer to replay. */
export interface RecordedAnswer {
  readonly id: string
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  /** Offsets at which the body is split into writes; `bytes`: after every byte; a number: the seed of random offsets. */
  readonly splits: readonly number[] | 'bytes' | number | null
}

/** The answer as bytes, and the ends of the pieces that are written separately. */
export interface RenderedAnswer {
  readonly bytes: Buffer
  readonly ends: readonly number[]
}

/** Checks the JSON of PUT /__sim/recorded. Throws an Error that says what is wrong. */
export function parseRecorded(value: unknown): RecordedAnswer {
  if (!isRecord(value)) throw new Error('a recorded answer must be a JSON object')
  const { id, status = 200, headers = {}, body_base64: body, splits = null } = value
  if (typeof id !== 'string' || id === '') throw new Error('a recorded answer needs an "id"')
  if (typeof status !== 'number' || !Number.isInteger(status)) throw new Error('"status" must be an integer')
  if (!isRecord(headers) || !Object.values(headers).every((text) => typeof text === 'string')) {
    throw new Error('"headers" must be an object of strings')
  }
  if (typeof body !== 'string') throw new Error('"body_base64" must be a string')
  if (!isSplits(splits)) throw new Error('"splits" must be offsets, "bytes" or a seed')
  const texts = headers as Readonly<Record<string, string>>
  return { id, status, headers: texts, body: Buffer.from(body, 'base64'), splits }
}

/** A stream without a length is sent as chunks, one for each piece; any other answer is sent with its length. */
export function renderRecorded(answer: RecordedAnswer): RenderedAnswer {
  const { body } = answer
  const names = new Map(Object.entries(answer.headers).map(([name, value]) => [name.toLowerCase(), value]))
  const isStream = names.get('content-type')?.startsWith('text/event-stream') === true
  const chunked = !names.has('content-length') && (isStream || names.has('transfer-encoding'))
  names.delete('transfer-encoding')
  names.delete('connection')
  if (chunked) names.set('transfer-encoding', 'chunked')
  else if (!names.has('content-length')) names.set('content-length', String(body.length))
  let head = statusLine(answer.status)
  for (const [name, value] of names) head += `${name}: ${value}\r\n`

  const parts: Buffer[] = [Buffer.from(`${head}\r\n`, 'latin1')]
  let start = 0
  for (const end of pieceEnds(answer)) {
    const piece = body.subarray(start, end)
    start = end
    if (piece.length === 0) continue
    parts.push(chunked ? Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, CRLF]) : piece)
  }
  if (chunked) parts.push(LAST_CHUNK)

  const ends: number[] = []
  let end = 0
  for (const part of parts) ends.push((end += part.length))
  return { bytes: Buffer.concat(parts), ends }
}

const CRLF = Buffer.from('\r\n')
const LAST_CHUNK = Buffer.from('0\r\n\r\n')

function pieceEnds({ splits, body }: RecordedAnswer): number[] {
  if (splits === 'bytes') return everyByte(body.length)
  if (typeof splits === 'number') return seededPieces(body.length, splits)
  const inside = (splits ?? []).filter((offset) => offset > 0 && offset < body.length)
  return [...inside.sort((a, b) => a - b), body.length]
}

function isSplits(value: unknown): value is RecordedAnswer['splits'] {
  if (value === null || value === 'bytes' || Number.isInteger(value)) return true
  return Array.isArray(value) && value.every((offset) => Number.isInteger(offset))
}
