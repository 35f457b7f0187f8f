import type { Capture, CapturedBytes, CaptureRule } from '../../shared/core/capture.ts'
import { GrowingBody } from '../../shared/runtime/growing-body.ts'
import type { CaptureQueue } from './capture-queue.ts'

/** Names the request of a capture. */
export type CaptureSubject = Omit<Capture, 'request' | 'answer'>

/** Copies of the bodies of one request, up to a bound each, until its answer is over. Drops all when the queue has no room. */
export class BodyCopies {
  readonly #subject: CaptureSubject
  readonly #rule: CaptureRule
  readonly #queue: CaptureQueue
  readonly #maxBytes: number
  #request: CapturedBytes | null = null
  readonly #answer = new GrowingBody()
  #answerSize = 0
  #reserved = 0
  #isOver = false

  constructor(subject: CaptureSubject, rule: CaptureRule, queue: CaptureQueue, maxBytes: number) {
    this.#subject = subject
    this.#rule = rule
    this.#queue = queue
    this.#maxBytes = maxBytes
  }

  request(body: Buffer): void {
    if (this.#isOver || !this.#rule.requests) return
    const bytes = body.subarray(0, this.#maxBytes)
    // A copy: a large body moves to a worker thread with its memory.
    if (this.#reserve(bytes.length)) this.#request = { bytes: Buffer.from(bytes), size: body.length, isComplete: true }
  }

  answer(chunk: Buffer): void {
    if (this.#isOver || !this.#rule.answers) return
    this.#answerSize += chunk.length
    const room = this.#maxBytes - this.#answer.length
    if (room === 0) return
    const bytes = chunk.length <= room ? chunk : chunk.subarray(0, room)
    if (this.#reserve(bytes.length)) this.#answer.append(bytes)
  }

  /** Hands the copies over. Later calls do nothing. */
  over(isComplete: boolean): void {
    if (this.#isOver) return
    this.#isOver = true
    const size = this.#answerSize
    const answer = this.#rule.answers && size > 0 ? { bytes: this.#answer.take(), size, isComplete } : null
    if (this.#request === null && answer === null) return
    this.#queue.add({ ...this.#subject, request: this.#request, answer }, this.#reserved)
  }

  /** Hands nothing over. */
  forget(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#request = null
    this.#answer.clear()
    this.#queue.release(this.#reserved)
  }

  #reserve(bytes: number): boolean {
    if (this.#queue.reserve(bytes)) {
      this.#reserved += bytes
      return true
    }
    this.#isOver = true
    this.#request = null
    this.#answer.clear()
    this.#queue.drop(this.#reserved, 'full')
    return false
  }
}
