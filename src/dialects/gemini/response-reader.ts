import type { Stop } from '../../shared/core/answer.ts'
import type { UpstreamFailure } from '../../shared/core/dialect.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import type { StreamEvent } from '../../shared/core/stream-event.ts'
import type { Usage } from '../../shared/core/usage.ts'
import { TRUNCATED_STREAM } from '../event.ts'
import { objects, textOr } from '../fields.ts'
import { asObject } from '../json-value.ts'
import { geminiFailure } from './errors.ts'
import { readFinish, stopOf } from './finish.ts'
import { PartReader } from './parts.ts'
import { GeminiUsage } from './usage.ts'

const NO_ANSWER = 'invalid_answer'
const MS_PER_SECOND = 1000

/** Reads the responses of one answer: the only one, or all chunks of a stream, each of which is a response itself. */
export class ResponseReader {
  readonly #parts = new PartReader()
  readonly #usage = new GeminiUsage()
  #id = ''
  #finish: string | null = null
  /** What the service says of a prompt that it does not answer. */
  #blocked: JsonObject | null = null
  #finishMessage = ''
  #started = false
  over = false
  failure: UpstreamFailure | null = null

  get finished(): boolean {
    return this.#finish !== null || this.#blocked !== null
  }

  get usage(): Usage | null {
    return this.#usage.read()
  }

  /** Whatever it is: it may report a failure, or be nothing that is known. */
  read(value: unknown, out: StreamEvent[]): void {
    if (this.over) return
    const response = asObject(value)
    if (response === null || response['error']) {
      this.fail(geminiFailure(value), out)
      return
    }
    const metadata = asObject(response['usageMetadata'])
    if (metadata !== null) this.#usage.apply(metadata)
    const feedback = asObject(response['promptFeedback'])
    if (textOr(feedback?.['blockReason'], '') !== '') this.#blocked = feedback
    const candidate = objects(response['candidates']).find((one) => (one['index'] ?? 0) === 0)
    if (candidate === undefined && metadata === null && this.#blocked === null) return
    if (!this.#started) this.#start(response, out)
    if (candidate !== undefined) this.#readCandidate(candidate, out)
  }

  /** The answer is over. @param whole it came in one piece, so that it lacks nothing even if it tells no reason */
  end(whole: boolean, out: StreamEvent[]): void {
    if (this.over) return
    this.#parts.close(out)
    const stop = this.#stop(whole)
    if (stop === null) {
      const type = this.#finish ?? (whole ? NO_ANSWER : TRUNCATED_STREAM.type)
      this.fail({ message: this.#finishMessage, type }, out)
      return
    }
    this.over = true
    out.push({ type: 'end', stop, usage: this.usage, nativeUsage: this.#usage.native, extra: null })
  }

  fail(failure: UpstreamFailure, out: StreamEvent[]): void {
    if (this.over) return
    this.over = true
    this.failure = failure
    this.#parts.close(out)
    out.push({ type: 'error', failure })
  }

  #start(response: JsonObject, out: StreamEvent[]): void {
    this.#started = true
    this.#id = textOr(response['responseId'], '')
    const created = Date.parse(textOr(response['createTime'], ''))
    out.push({
      type: 'start',
      from: 'gemini',
      id: this.#id,
      model: textOr(response['modelVersion'], ''),
      created: Number.isNaN(created) ? null : Math.floor(created / MS_PER_SECOND),
      usage: this.usage,
      extra: null,
    })
  }

  #readCandidate(candidate: JsonObject, out: StreamEvent[]): void {
    for (const part of objects(asObject(candidate['content'])?.['parts'])) this.#parts.read(part, this.#id, out)
    this.#parts.cite(candidate, out)
    // Some services say `STOP` in every chunk, and something else in the last.
    this.#finish = readFinish(candidate['finishReason']) ?? this.#finish
    this.#finishMessage = textOr(candidate['finishMessage'], this.#finishMessage)
  }

  #stop(whole: boolean): Stop | null {
    if (this.#finish === null && this.#blocked !== null) {
      const native = textOr(this.#blocked['blockReason'], null)
      return { reason: 'content-filter', native, sequence: null, details: this.#blocked }
    }
    const { hasContent } = this.#parts
    if (this.#finish === null && !(whole && hasContent)) return null
    return stopOf(this.#finish, this.#parts)
  }
}
