import type { Endpoint } from '../../shared/core/endpoint.ts'
import type { GatewayError } from '../../shared/core/errors.ts'
import type { RequestContext } from '../../shared/core/request-context.ts'
import type { Snapshot } from '../../shared/core/snapshot.ts'
import type { Metrics } from '../../shared/telemetry/metrics.ts'
import { ModelLabels } from './model-labels.ts'

const STATUS_CLASSES = ['', '1xx', '2xx', '3xx', '4xx', '5xx'] as const

/** Counts requests as they end. Allocates only when a label value is new. */
export class RequestMetrics {
  readonly #models = new ModelLabels()
  readonly #requests
  readonly #tokens
  readonly #duration
  readonly #firstByte
  readonly #attempts
  readonly #attemptDuration
  readonly #retries
  readonly #httpRefusals
  readonly #shed
  readonly #phases

  constructor(metrics: Metrics) {
    this.#requests = metrics.counter('requests')
    this.#tokens = metrics.counter('tokens')
    this.#duration = metrics.histogram('duration')
    this.#firstByte = metrics.histogram('firstByte')
    this.#attempts = metrics.counter('attempts')
    this.#attemptDuration = metrics.histogram('attemptDuration')
    this.#retries = metrics.counter('retries').at()
    this.#httpRefusals = metrics.counter('httpRefusals')
    this.#shed = metrics.counter('shed')
    const phases = metrics.histogram('phase')
    this.#phases = {
      auth: phases.at('auth'),
      limit: phases.at('limit'),
      validate: phases.at('validate'),
      queue: phases.at('queue'),
      translate: phases.at('translate'),
      upstream: phases.at('upstream'),
      overhead: phases.at('overhead'),
    }
  }

  update(snapshot: Snapshot): void {
    this.#models.update(snapshot)
  }

  /** Counts a request that the server refused before a handler ran. */
  refused(error: GatewayError): void {
    this.#httpRefusals.at(error.code).add(1)
  }

  /** Counts a request that the overload ladder refused. A recorded one is counted as a request when it ends. */
  shed(endpoint: Endpoint, reason: string, isRecorded: boolean): void {
    this.#shed.at(reason).add(1)
    if (!isRecorded) this.#requests.at(endpoint.name, '', '5xx', 'GATEWAY_OVERLOADED').add(1)
  }

  ended(ctx: RequestContext, nowUs: number): void {
    const { endpoint, attempts } = ctx
    const model = this.#models.of(ctx.model)
    const totalUs = nowUs - ctx.startUs
    const statusClass = STATUS_CLASSES[Math.floor(ctx.outcome.status / 100)] ?? ''
    this.#requests
      .at(endpoint.name, model, statusClass, ctx.outcome.error?.code ?? (ctx.outcome.aborted ? 'CLIENT_CLOSED' : 'OK'))
      .add(1)
    this.#duration.at(endpoint.name, ctx.body?.stream === true ? 'true' : 'false').observe(totalUs)
    if (ctx.ttftUs !== null) this.#firstByte.at(endpoint.name, model).observe(ctx.ttftUs)
    this.#phasesOf(ctx, nowUs)
    this.#tokensOf(ctx, model)
    for (const { providerId, upstreamKeyId, outcome, durationUs } of attempts) {
      this.#attempts.at(providerId, upstreamKeyId, outcome).add(1)
      this.#attemptDuration.at(providerId).observe(durationUs)
    }
    if (attempts.length > 1) this.#retries.add(attempts.length - 1)
  }

  /** Observes the phases that the request reached; the others get no observation, not one of zero. */
  #phasesOf(ctx: RequestContext, nowUs: number): void {
    const { principal, reservation, body, attempts, times } = ctx
    const phases = this.#phases
    phases.overhead.observe(ctx.overheadUs(nowUs))
    if (principal === null) return
    phases.auth.observe(times.authUs)
    if (reservation === null) return
    phases.limit.observe(times.limitUs)
    if (body === null) return
    phases.validate.observe(times.validateUs)
    if (attempts.length === 0) return
    phases.queue.observe(times.queueUs)
    phases.translate.observe(times.translateUs)
    phases.upstream.observe(times.upstreamUs)
  }

  #tokensOf({ tokens: { usage } }: RequestContext, model: string): void {
    if (usage.promptTokens > 0) this.#tokens.at(model, 'prompt').add(usage.promptTokens)
    if (usage.completionTokens > 0) this.#tokens.at(model, 'completion').add(usage.completionTokens)
    if (usage.cachedTokens > 0) this.#tokens.at(model, 'cached').add(usage.cachedTokens)
    if (usage.cacheWriteTokens > 0) this.#tokens.at(model, 'cache_write').add(usage.cacheWriteTokens)
    if (usage.reasoningTokens > 0) this.#tokens.at(model, 'reasoning').add(usage.reasoningTokens)
  }
}
