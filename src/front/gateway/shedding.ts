import type { Clock } from '../../shared/runtime/clock.ts'
import type { Dialect } from '../../shared/core/dialect.ts'
import type { DialectName, Endpoint } from '../../shared/core/endpoint.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import type { Exchange, HeaderList } from '../../shared/core/exchange.ts'
import { newRequestId } from '../../shared/core/request-id.ts'
import type { Overload } from '../overload/overload.ts'
import type { RequestMetrics } from './request-metrics.ts'

export interface SheddingParts {
  readonly overload: Overload
  readonly clock: Clock
  readonly metrics: RequestMetrics
  readonly dialectOf: (name: DialectName) => Dialect
}

/** Refusals per second and front that get a row in the request log. The metrics count the others. */
const RECORDED_PER_SECOND = 20

/**
 * Refuses AI requests that a front cannot serve now, at a small part of the cost of serving them. It authenticates nobody, reads
 * no body, and records at most `RECORDED_PER_SECOND`.
 */
export class Shedding {
  readonly #parts: SheddingParts
  readonly #errors = new Map<number, GatewayError>()
  #secondMs = 0
  #recorded = 0

  constructor(parts: SheddingParts) {
    this.#parts = parts
  }

  /** Serves the request, or refuses it. @param record refuses it with a row in the request log */
  run(
    endpoint: Endpoint,
    exchange: Exchange,
    serve: (startUs: number) => Promise<void>,
    record: (error: GatewayError) => void,
  ): Promise<void> | undefined {
    const { overload, clock, metrics } = this.#parts
    const startUs = clock.monotonicUs()
    const reason = overload.enter(startUs)
    if (reason === null) {
      const leave = (): void => {
        overload.leave(clock.monotonicUs() - startUs)
      }
      return serve(startUs).then(leave, (cause: unknown) => {
        leave()
        throw cause
      })
    }
    const nowMs = clock.now()
    const isRecorded = this.#mayRecord(nowMs)
    metrics.shed(endpoint, reason, isRecorded)
    if (isRecorded) record(this.#refusal())
    else this.#refuse(endpoint, exchange, nowMs)
    return undefined
  }

  #refuse(endpoint: Endpoint, exchange: Exchange, nowMs: number): void {
    const error = this.#refusal()
    const requestId = newRequestId(nowMs)
    const headers: HeaderList = [
      ['Content-Type', 'application/json'],
      ['X-Request-Id', requestId],
      ['Retry-After', String(error.retryAfterSeconds)],
    ]
    exchange.response.send(
      error.status,
      endpoint.dialect === 'anthropic-messages' ? [...headers, ['request-id', requestId]] : headers,
      this.#parts.dialectOf(endpoint.dialect).renderError(error, requestId),
    )
  }

  /** One cached error for each `Retry-After`, of which there are few: an error's stack costs more than the rest of a refusal. */
  #refusal(): GatewayError {
    const retryAfterSeconds = this.#parts.overload.nextRetryAfterSeconds()
    let error = this.#errors.get(retryAfterSeconds)
    if (error === undefined) {
      error = new GatewayError('GATEWAY_OVERLOADED', { retryAfterSeconds })
      this.#errors.set(retryAfterSeconds, error)
    }
    return error
  }

  #mayRecord(nowMs: number): boolean {
    const secondMs = nowMs - (nowMs % 1000)
    if (secondMs !== this.#secondMs) {
      this.#secondMs = secondMs
      this.#recorded = 0
    }
    this.#recorded += 1
    return this.#recorded <= RECORDED_PER_SECOND
  }
}
