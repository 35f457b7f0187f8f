import type { Deployment } from '../../shared/core/deployment.ts'
import type { BufferedAnswer } from '../../shared/core/dialect.ts'
import type { Endpoint } from '../../shared/core/endpoint.ts'
import type { RequestBody } from '../../shared/core/request-body.ts'
import type { RequestContext } from '../../shared/core/request-context.ts'
import type { Service } from '../../shared/core/service.ts'
import { buildCalls, readCalls } from '../../dialects/services/calls.ts'
import type { ServiceCalls } from '../../dialects/services/calls.ts'
import type { ServiceTarget, ServiceAnswerRules } from '../../dialects/services/codec.ts'

/** Runs the functions of `dialects/services/calls.ts` off the event loop. Does not change `bytes`. */
export interface ServicePool {
  buildCalls(bytes: Buffer, ask: ServiceTarget): Promise<ServiceCalls>
  readCalls(bytes: Buffer, reading: ServiceAnswerRules): Promise<BufferedAnswer>
}

/** A request in the protocol of the provider's service, and how to read its answers. */
export interface ServiceRequest {
  readonly bodies: readonly Buffer[]
  readonly dropped: readonly string[]
  readonly reading: ServiceAnswerRules
}

/** Whether the service takes the client's body unchanged, in one call. */
export function takesAsItIs(service: Service, endpoint: Endpoint, { expected }: RequestBody): boolean {
  const { protocol, maxPerCall = Infinity, fieldNames, refusedFields } = service
  if (protocol !== endpoint.bodies || fieldNames !== undefined || refusedFields !== undefined) return false
  if (expected?.kind === 'embeddings') return expected.inputs <= maxPerCall
  if (expected?.kind === 'rerank') return !expected.wantsDocuments
  return expected?.kind !== 'images' || expected.count <= maxPerCall
}

/** Translates requests to the protocol of a provider's service: small ones at once, larger ones in the worker pool. */
export class ServiceTranslator {
  readonly #pool: ServicePool
  readonly #inlineMaxBytes: number

  constructor(pool: ServicePool, inlineMaxBytes: number) {
    this.#pool = pool
    this.#inlineMaxBytes = inlineMaxBytes
  }

  /** Throws, or rejects with, UNSUPPORTED_FIELD; WORKERS_BUSY when the pool is full. */
  request(
    ctx: RequestContext,
    body: RequestBody,
    { upstreamModel }: Deployment,
    service: Service,
  ): ServiceRequest | Promise<ServiceRequest> {
    const ask: ServiceTarget = { protocol: service.protocol, rules: rulesOf(service), model: upstreamModel }
    if (body.bytes.length <= this.#inlineMaxBytes) return requestOf(buildCalls(body.bytes, ask), ask, ctx, body)
    return this.#pool.buildCalls(body.bytes, ask).then((calls) => requestOf(calls, ask, ctx, body))
  }

  /** Throws, or rejects with, SyntaxError when the answer is not JSON. */
  answer(reading: ServiceAnswerRules, bytes: Buffer): BufferedAnswer | Promise<BufferedAnswer> {
    return bytes.length <= this.#inlineMaxBytes ? readCalls(bytes, reading) : this.#pool.readCalls(bytes, reading)
  }
}

function rulesOf({ maxPerCall, fieldNames, refusedFields }: Service): ServiceTarget['rules'] {
  return {
    ...(maxPerCall === undefined ? {} : { maxPerCall }),
    ...(fieldNames === undefined ? {} : { fieldNames }),
    ...(refusedFields === undefined ? {} : { refusedFields }),
  }
}

function requestOf(
  { bodies, dropped, sizes, documents }: ServiceCalls,
  { protocol }: ServiceTarget,
  ctx: RequestContext,
  { expected, estimatedPromptTokens, model }: RequestBody,
): ServiceRequest {
  const created = Math.floor(ctx.atMs / 1000)
  const reading = { protocol, model, created, sizes, documents: documents ?? null, expected, estimatedPromptTokens }
  return { bodies, dropped, reading }
}
