import type { StreamDecoder } from '../../shared/core/codec.ts'
import type { UpstreamFailure } from '../../shared/core/dialect.ts'
import type { StreamEvent } from '../../shared/core/stream-event.ts'
import type { Usage } from '../../shared/core/usage.ts'
import { joinData, SseFields } from '../../shared/wire/sse.ts'
import { INVALID_EVENT, isDone } from '../common/event.ts'
import { ResponseReader } from './response-reader.ts'

/** For text outside of `data:` lines. */
const MAX_BARE_LENGTH = 8 * 1024 * 1024
const FIELD_LINE = /^(?::|(?:data|event|id|retry)(?::|$))/

/**
 * Reads a stream of server-sent events. Each event is a response with new content. No event marks the end, so the answer ends
 * with the body. Errors after the head have no `data:`. A stream that was requested without `alt=sse` has none either: it is
 * one JSON array.
 */
export class GeminiStreamDecoder implements StreamDecoder {
  readonly #reader = new ResponseReader()
  readonly #fields = new SseFields()
  #bare = ''

  get over(): boolean {
    return this.#reader.over
  }

  get finished(): boolean {
    return this.#reader.finished
  }

  get usage(): Usage | null {
    return this.#reader.usage
  }

  get failure(): UpstreamFailure | null {
    return this.#reader.failure
  }

  decode(bytes: Buffer, start: number, end: number, out: StreamEvent[]): void {
    if (this.over) return
    const fields = this.#fields
    fields.read(bytes, start, end)
    if (fields.dataLines === 0) {
      this.#readBare(bytes, start, end, out)
      return
    }
    if (fields.dataLines === 1) this.#readData(bytes, fields.dataStart, fields.dataEnd, out)
    else {
      const data = joinData(bytes, start, end)
      if (data !== null) this.#readData(data, 0, data.length, out)
    }
  }

  finish(out: StreamEvent[]): void {
    if (this.over) return
    if (this.#bare.trim() !== '') this.#reader.fail(INVALID_EVENT, out)
    else this.#reader.end(false, out)
  }

  #readData(bytes: Buffer, start: number, end: number, out: StreamEvent[]): void {
    if (start === end || isDone(bytes, start, end)) return
    const value = parse(bytes.toString('utf8', start, end))
    if (value === undefined) this.#reader.fail(INVALID_EVENT, out)
    else this.#reader.read(value, out)
  }

  /** Reads JSON outside of events. Blank lines may split it, so it is read as soon as it is whole. */
  #readBare(bytes: Buffer, start: number, end: number, out: StreamEvent[]): void {
    const text = bytes.toString('utf8', start, end)
    if (this.#bare === '' && text.split(/\r\n|\r|\n/).every((line) => line === '' || FIELD_LINE.test(line))) return
    if (this.#bare.length + text.length > MAX_BARE_LENGTH) {
      this.#reader.fail(INVALID_EVENT, out)
      return
    }
    this.#bare += text
    const last = this.#bare.trimEnd().at(-1)
    const value = last === '}' || last === ']' ? parse(this.#bare) : undefined
    if (value === undefined) return
    this.#bare = ''
    for (const response of Array.isArray(value) ? (value as unknown[]) : [value]) this.#reader.read(response, out)
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
