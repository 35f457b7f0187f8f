import type { AnswerOptions } from '../../shared/core/codec.ts'
import type { Deployment } from '../../shared/core/deployment.ts'
import type { Endpoint } from '../../shared/core/endpoint.ts'
import type { RequestBody } from '../../shared/core/request-body.ts'
import type { RequestContext } from '../../shared/core/request-context.ts'
import type { Provider } from '../../shared/core/snapshot.ts'
import { translateAnswer, translateRequest } from '../../dialects/translate.ts'
import type {
  AnswerTranslation,
  Pair,
  TargetEdits,
  TranslatedAnswer,
  TranslatedRequest,
} from '../../dialects/translate.ts'

/** Runs the functions of `dialects/translate.ts` off the event loop. Does not change `bytes`. */
export interface TranslationPool {
  translateRequest(bytes: Buffer, pair: Pair, edits: TargetEdits): Promise<TranslatedRequest>
  translateAnswer(bytes: Buffer, translation: AnswerTranslation): Promise<TranslatedAnswer>
}

/** A request in the upstream's dialect, and how to read its answer. */
export interface TranslatedCall {
  readonly body: Buffer
  readonly dropped: readonly string[]
  readonly answer: AnswerTranslation
}

/** Whether the request needs translation. Only conversations do: other endpoints have the same form at every provider. */
export function needsTranslation(endpoint: Endpoint, provider: Provider): boolean {
  return endpoint.servedBy === 'any' && endpoint.dialect !== provider.dialect
}

/** Translates small bodies at once, larger ones in the worker pool. */
export class Translator {
  readonly #pool: TranslationPool
  readonly #inlineMaxBytes: number

  constructor(pool: TranslationPool, inlineMaxBytes: number) {
    this.#pool = pool
    this.#inlineMaxBytes = inlineMaxBytes
  }

  /** Throws, or rejects with, UNSUPPORTED_FIELD or INVALID_FIELD; WORKERS_BUSY when the pool is full. */
  request(
    ctx: RequestContext,
    body: RequestBody,
    deployment: Deployment,
    betas: readonly string[],
  ): TranslatedCall | Promise<TranslatedCall> {
    const pair: Pair = { client: ctx.endpoint.dialect, upstream: deployment.provider.dialect }
    const asked = { model: deployment.upstreamModel, stream: body.stream }
    const edits: TargetEdits = { ...deployment.target, ...asked, ...(betas.length > 0 ? { betas } : null) }
    if (body.bytes.length <= this.#inlineMaxBytes)
      return callOf(translateRequest(body.bytes, pair, edits), pair, ctx, body)
    return this.#pool.translateRequest(body.bytes, pair, edits).then((built) => callOf(built, pair, ctx, body))
  }

  /** Throws, or rejects with, SyntaxError when the answer is not JSON. */
  answer(translation: AnswerTranslation, bytes: Buffer): TranslatedAnswer | Promise<TranslatedAnswer> {
    if (bytes.length <= this.#inlineMaxBytes) return translateAnswer(bytes, translation)
    return this.#pool.translateAnswer(bytes, translation)
  }
}

function callOf(
  { body, dropped, restoration, echo }: TranslatedRequest,
  pair: Pair,
  ctx: RequestContext,
  asked: RequestBody,
): TranslatedCall {
  return { body, dropped, answer: { ...pair, restoration, options: { ...answerOptions(ctx, asked), echo } } }
}

function answerOptions(ctx: RequestContext, asked: RequestBody): AnswerOptions {
  return {
    id: ctx.id.slice(ctx.id.indexOf('_') + 1),
    model: asked.model,
    created: Math.floor(ctx.atMs / 1000),
    estimatedPromptTokens: asked.estimatedPromptTokens,
    reasoningDetails: true,
  }
}

/**
 * How to read a whole answer to a stream request, or events in answer to a request for a whole answer. Null: this endpoint's
 * answers have only one form.
 * @param translation of the call; null: client and upstream speak the same dialect
 */
export function unaskedForm(
  form: 'whole' | 'events',
  translation: AnswerTranslation | null,
  ctx: RequestContext,
  asked: RequestBody,
  provider: Provider,
): AnswerTranslation | null {
  const { endpoint } = ctx
  if (endpoint.servedBy !== 'any') return null
  const pair: Pair = { client: endpoint.dialect, upstream: provider.dialect }
  const read = translation ?? { ...pair, restoration: null, options: answerOptions(ctx, asked) }
  return { ...read, unasked: { form, wantsUsage: asked.wantsUsage } }
}
