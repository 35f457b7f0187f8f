import type { DialectName } from '../../shared/core/endpoint.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import type { RequestContext } from '../../shared/core/request-context.ts'
import type { Route } from '../scheduling/catalog.ts'
import { answerHeaders } from './answer-headers.ts'
import type { Clock } from '../../shared/runtime/clock.ts'

/** Counts tokens off the event loop; leaves `bytes` as they are. */
export interface CountingPool {
  /** A worker is free. */
  readonly idle: boolean
  countPrompt(bytes: Buffer, dialect: DialectName, model: string): Promise<number>
  countAnswer(bytes: Buffer, dialect: DialectName, model: string): Promise<number>
}

interface Parts {
  readonly pool: CountingPool
  readonly clock: Clock
  readonly routes: { route(model: string, servedBy: 'any' | 'anthropic-messages'): Route | null }
  readonly onFault: (cause: unknown) => void
  /** How long an answer may wait for its tokens to be counted; 1 000 unless given. */
  readonly patienceMs?: number
}

const PATIENCE_MS = 1_000

/** Counts tokens where no upstream does: in place of count_tokens, and for usage that was not reported. */
export class TokenCounts {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Answers a request to count: by `serve` where an upstream counts, else as the model's family would. */
  async answer(ctx: RequestContext, serve: () => Promise<void>): Promise<void> {
    const { routes } = this.#parts
    const model = ctx.body?.model ?? ''
    const deployment = routes.route(model, 'any')?.[0]?.deployment
    // An upstream counts, or there is no such model and `serve` says so.
    if (deployment === undefined || routes.route(model, 'anthropic-messages') !== null) return serve()
    const tokens = await this.#countPrompt(ctx, deployment.upstreamModel)
    ctx.status = 200
    ctx.finishWith(() => {
      const headers = answerHeaders(ctx, 'application/json', this.#parts.clock.monotonicUs())
      ctx.exchange.response.send(200, headers, JSON.stringify({ input_tokens: tokens }))
    })
  }

  /**
   * Puts counted tokens in the place of estimated ones, where the upstream reported none and a worker has nothing else to do.
   * Never fails: where the count does not come in time, the estimates stand. The end of the answer waits for it.
   */
  async countUnreported(ctx: RequestContext): Promise<void> {
    const { unreported } = ctx
    const { pool } = this.#parts
    if (unreported === null || ctx.endpoint.servedBy !== 'any' || !pool.idle) return
    const { dialect } = ctx.endpoint
    const model = ctx.servedModel ?? ''
    const { answer } = unreported
    const counting = Promise.all([
      this.#countPrompt(ctx, model),
      answer === null
        ? ctx.usage.completionTokens
        : this.#counted(pool.countAnswer(answer, dialect, model), ctx.usage.completionTokens),
    ])
    const counted = await within(counting, this.#parts.patienceMs ?? PATIENCE_MS)
    if (counted === null) return
    const [promptTokens, completionTokens] = counted
    ctx.usage = { ...ctx.usage, promptTokens, completionTokens }
  }

  #countPrompt({ body, endpoint }: RequestContext, model: string): Promise<number> {
    if (body === null) return Promise.resolve(0)
    const counting = this.#parts.pool.countPrompt(body.bytes, endpoint.dialect, model)
    return this.#counted(counting, body.estimatedPromptTokens)
  }

  /** A worker that fails, or has no room, costs the count, not the request. */
  async #counted(counting: Promise<number>, estimate: number): Promise<number> {
    try {
      return await counting
    } catch (cause) {
      if (GatewayError.from(cause).code !== 'WORKERS_BUSY') this.#parts.onFault(cause)
      return estimate
    }
  }
}

/** Null when it takes longer. `work` never fails. */
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
