import type { DialectName } from '../../shared/core/endpoint.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import type { RequestContext } from '../../shared/core/request-context.ts'
import type { Route } from '../scheduling/catalog.ts'
import { answerHeaders } from './answer-headers.ts'
import type { Clock } from '../../shared/runtime/clock.ts'

/** Counts tokens off the event loop. Does not change `bytes`. */
export interface CountingPool {
  /** Whether a worker is free. */
  readonly idle: boolean
  countPrompt(bytes: Buffer, dialect: DialectName, model: string): Promise<number>
  countAnswer(bytes: Buffer, dialect: DialectName, model: string): Promise<number>
}

interface Parts {
  readonly pool: CountingPool
  readonly clock: Clock
  readonly routes: { route(model: string, servedBy: 'any' | 'anthropic-messages'): Route | null }
  readonly onFault: (cause: unknown) => void
  /** The longest time that an answer waits for the count of its tokens; default 1 000. */
  readonly patienceMs?: number
}

const PATIENCE_MS = 1_000

/** Counts tokens that no upstream counts: for count_tokens, and for unreported usage. */
export class TokenCounts {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Answers a count_tokens request: with `serve` when an upstream can count, else with a count by the model's family. */
  async answer(ctx: RequestContext, serve: () => Promise<void>): Promise<void> {
    const { routes } = this.#parts
    const model = ctx.body?.model ?? ''
    const deployment = routes.route(model, 'any')?.[0]?.deployment
    // `serve` calls an upstream that can count, or reports an unknown model.
    if (deployment === undefined || routes.route(model, 'anthropic-messages') !== null) return serve()
    const tokens = await this.#countPrompt(ctx, deployment.upstreamModel)
    ctx.outcome.answered()
    ctx.finishWith(() => {
      const headers = answerHeaders(ctx, 'application/json', this.#parts.clock.monotonicUs())
      ctx.exchange.response.send(200, headers, JSON.stringify({ input_tokens: tokens }))
    })
  }

  /**
   * Replaces estimated tokens by counted ones, when the upstream reported none and a worker is free. Never fails: when the count
   * takes longer than `patienceMs`, the estimates stay. The end of the answer waits for the count.
   */
  async countUnreported(ctx: RequestContext): Promise<void> {
    const { unreported, usage } = ctx.tokens
    const { pool } = this.#parts
    if (unreported === null || ctx.endpoint.servedBy !== 'any' || !pool.idle) return
    const { dialect } = ctx.endpoint
    const model = ctx.served.model ?? ''
    const { answer } = unreported
    const counting = Promise.all([
      this.#countPrompt(ctx, model),
      answer === null
        ? usage.completionTokens
        : this.#counted(pool.countAnswer(answer, dialect, model), usage.completionTokens),
    ])
    const counted = await within(counting, this.#parts.patienceMs ?? PATIENCE_MS)
    if (counted === null) return
    const [promptTokens, completionTokens] = counted
    ctx.tokens = { ...ctx.tokens, usage: { ...usage, promptTokens, completionTokens } }
  }

  #countPrompt({ body, endpoint }: RequestContext, model: string): Promise<number> {
    if (body === null) return Promise.resolve(0)
    const counting = this.#parts.pool.countPrompt(body.bytes, endpoint.dialect, model)
    return this.#counted(counting, body.estimatedPromptTokens)
  }

  /** Falls back to `estimate` when the worker fails or the pool is full: the request does not fail. */
  async #counted(counting: Promise<number>, estimate: number): Promise<number> {
    try {
      return await counting
    } catch (cause) {
      if (GatewayError.from(cause).code !== 'WORKERS_BUSY') this.#parts.onFault(cause)
      return estimate
    }
  }
}

/** The result of `work`, or null after `patienceMs`. `work` never fails. */
async function within<Result>(work: Promise<Result>, patienceMs: number): Promise<Result | null> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(resolve, patienceMs, null)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
