import type { Stop } from '../../shared/core/answer.ts'
import type { UpstreamFailure } from '../../shared/core/dialect.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import type { StreamEvent } from '../../shared/core/stream-event.ts'
import type { Usage } from '../../shared/core/usage.ts'
import { TRUNCATED_STREAM } from '../common/event.ts'
import { objects, textOr } from '../common/fields.ts'
import { asObject } from '../common/json-value.ts'
import { geminiFailure } from './errors.ts'
import { readFinish, stopOf } from './finish.ts'
import { PartReader } from './parts.ts'
import { GeminiUsage } from './usage.ts'

const NO_ANSWER = 'invalid_answer'
const MS_PER_SECOND = 1000

/** Reads the responses of one answer: a single one, or all chunks of a stream. Each chunk is a response. */
export class ResponseReader {
  readonly #parts = new PartReader()
  readonly #usage = new GeminiUsage()
  #id = ''
  #finish: string | null = null
  /** The service's reason for not answering the prompt. */
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

  /** Reads any value: a response, a failure, or an unknown value, which is ignored. */
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

  /** Ends the answer. @param whole it came in one piece, so it is complete even without a finish reason */
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
    // Some services send `STOP` in every chunk, and another reason in the last.
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
