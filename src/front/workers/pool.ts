import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Piscina } from 'piscina'
import type { AnswerRequest, BufferedAnswer } from '../../shared/core/dialect.ts'
import type { BodyDialectName, DialectName } from '../../shared/core/endpoint.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import type { RequestBody } from '../../shared/core/request-body.ts'
import { unpooled, transfersOf } from '../../shared/runtime/body-buffers.ts'
import type { ServiceCalls } from '../../dialects/services/calls.ts'
import type { ServiceTarget, ServiceAnswerRules } from '../../dialects/services/codec.ts'
import type {
  AnswerTranslation,
  Pair,
  TargetEdits,
  TranslatedAnswer,
  TranslatedRequest,
} from '../../dialects/translate.ts'
import type { BodyLimits, Task, TaskResult } from './protocol.ts'

export interface PoolOptions {
  readonly threads: number
  /** The most waiting tasks; further ones are refused with WORKERS_BUSY. */
  readonly maxQueue: number
  readonly bodyLimits: BodyLimits
}

const TASK_TIMEOUT_MS = 30_000
const WORKER_MEMORY_MB = 1_024

/** Runs CPU work off the event loop. A worker that dies fails only its current task. */
export class WorkerPool {
  readonly #pool: Piscina
  readonly #bodyLimits: BodyLimits
  /** Piscina's `maxQueue` does not bound tasks that can be aborted: their queue is unbounded. */
  readonly #maxTasks: number
  readonly #threads: number
  #tasks = 0

  constructor(options: PoolOptions) {
    this.#bodyLimits = options.bodyLimits
    this.#threads = options.threads
    this.#maxTasks = options.threads + options.maxQueue
    this.#pool = new Piscina({
      filename: fileURLToPath(new URL(`./worker${extname(import.meta.url)}`, import.meta.url)),
      minThreads: 0,
      maxThreads: options.threads,
      idleTimeout: 60_000,
      resourceLimits: { maxOldGenerationSizeMb: WORKER_MEMORY_MB },
    })
  }

  /** The number of running and waiting tasks. */
  get tasks(): number {
    return this.#tasks
  }

  /** Whether a worker is free. */
  get idle(): boolean {
    return this.#tasks < this.#threads
  }

  /** As the validator's `validate`, for large bodies. */
  async checkBody(endpoint: string, bytes: Buffer): Promise<RequestBody> {
    const result = await this.#run({ kind: 'check-body', endpoint, bytes, limits: this.#bodyLimits })
    if (result.kind !== 'body') throw failureOf(result)
    return { ...result.body, bytes }
  }

  /** As the dialect's `readAnswer`, for large answers. */
  async readAnswer(dialect: BodyDialectName, request: AnswerRequest, bytes: Buffer): Promise<BufferedAnswer> {
    const { expected, estimatedPromptTokens } = request
    const plain = { expected, estimatedPromptTokens }
    const result = await this.#run({ kind: 'read-answer', dialect, request: plain, bytes })
    if (result.kind !== 'answer') throw failureOf(result)
    return { ...result.answer, body: result.bytes === null ? null : asBuffer(result.bytes) }
  }

  /** As `translateRequest` of the dialects, for large bodies. */
  async translateRequest(bytes: Buffer, pair: Pair, edits: TargetEdits): Promise<TranslatedRequest> {
    const result = await this.#run({ kind: 'translate-request', pair, edits, bytes })
    if (result.kind !== 'translated') throw failureOf(result)
    return { ...result.request, body: asBuffer(result.bytes) }
  }

  /** As `translateAnswer` of the dialects, for large answers. */
  async translateAnswer(bytes: Buffer, translation: AnswerTranslation): Promise<TranslatedAnswer> {
    const result = await this.#run({ kind: 'translate-answer', translation, bytes })
    if (result.kind !== 'translated-answer') throw failureOf(result)
    return { ...result.answer, body: result.bytes === null ? null : asBuffer(result.bytes) }
  }

  /** As `buildCalls` of the dialects, for large bodies. */
  async buildCalls(bytes: Buffer, ask: ServiceTarget): Promise<ServiceCalls> {
    const result = await this.#run({ kind: 'build-calls', ask, bytes })
    if (result.kind !== 'calls') throw failureOf(result)
    const whole = asBuffer(result.bytes)
    let from = 0
    const bodies = result.lengths.map((length) => whole.subarray(from, (from += length)))
    return { ...result.calls, bodies }
  }

  /** As `readCalls` of the dialects, for large answers. */
  async readCalls(bytes: Buffer, reading: ServiceAnswerRules): Promise<BufferedAnswer> {
    const result = await this.#run({ kind: 'read-calls', reading, bytes })
    if (result.kind !== 'answer') throw failureOf(result)
    return { ...result.answer, body: result.bytes === null ? null : asBuffer(result.bytes) }
  }

  /** Counts the tokens of a prompt as the model's family does. */
  countPrompt(bytes: Buffer, dialect: DialectName, model: string): Promise<number> {
    return this.#count({ kind: 'count-prompt', dialect, model, bytes })
  }

  /** Counts the tokens of a whole answer as the model's family does. */
  countAnswer(bytes: Buffer, dialect: DialectName, model: string): Promise<number> {
    return this.#count({ kind: 'count-answer', dialect, model, bytes })
  }

  async close(): Promise<void> {
    await this.#pool.destroy()
  }

  async #count(task: Task): Promise<number> {
    const result = await this.#run(task)
    if (result.kind !== 'counted') throw failureOf(result)
    return result.tokens
  }

  async #run(task: Task): Promise<TaskResult> {
    if (this.#tasks >= this.#maxTasks) throw new GatewayError('WORKERS_BUSY', { retryAfterSeconds: 1 })
    this.#tasks += 1
    try {
      const bytes = unpooled(task.bytes)
      return (await this.#pool.run(
        { ...task, bytes },
        {
          name: 'run',
          transferList: transfersOf(bytes),
          signal: AbortSignal.timeout(TASK_TIMEOUT_MS),
        },
      )) as TaskResult
    } catch (cause) {
      throw new GatewayError('INTERNAL', { cause, detail: 'a worker failed' })
    } finally {
      this.#tasks -= 1
    }
  }
}

function asBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength)
}

function failureOf(result: TaskResult): GatewayError {
  if (result.kind !== 'refused') return new GatewayError('INTERNAL', { detail: `unexpected result ${result.kind}` })
  const { code, message, param } = result.error
  return new GatewayError(code, { message, ...(param === null ? {} : { param }) })
}
