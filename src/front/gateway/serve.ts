import type { Clock } from '../../shared/runtime/clock.ts'
import type { Dialect } from '../../shared/core/dialect.ts'
import type { BodyDialectName } from '../../shared/core/endpoint.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import type { RequestBody } from '../../shared/core/request-body.ts'
import type { RequestContext } from '../../shared/core/request-context.ts'
import type { Slot } from '../../shared/core/deployment.ts'
import type { RetryBudget } from '../scheduling/retry-budget.ts'
import type { Scheduler } from '../scheduling/scheduler.ts'
import type { SlotRequest } from '../scheduling/slot-request.ts'
import { WaitingSlot } from '../scheduling/waiting-slot.ts'
import { allowedFallbacks } from './allowed-fallbacks.ts'
import { Attempt } from './attempt.ts'
import type { AttemptOptions } from './attempt.ts'
import { isTimeSpent } from './total-time.ts'
import { creationError } from '../videos/creation-error.ts'

export interface ServeParts extends AttemptOptions {
  readonly clock: Clock
  readonly scheduler: Scheduler
  readonly retryBudget: RetryBudget
  readonly dialectOf: (name: BodyDialectName) => Dialect
  /** The longest time in the queue, for all attempts of a request together. */
  readonly maxQueueWaitMs: number
  /** False: the process is overloaded, and new requests wait at most `SHORT_WAIT_MS`. */
  readonly mayQueue: () => boolean
  /** By model: the models that replace it when none of its keys can serve, best first. */
  readonly fallbacks: ReadonlyMap<string, readonly string[]>
}

type Route = SlotRequest['route']

/**
 * The longest time in the queue under overload. It is above 0, because a slot from another process takes a moment to arrive:
 * without the wait, a front could never begin to use a model.
 */
const SHORT_WAIT_MS = 250
/** Most requests try one key: a set of its own for each takes 200 bytes while its stream lasts. */
const NONE: ReadonlySet<string> = new Set()

/** Headers in which clients name their conversation. */
const SESSION_HEADERS = ['x-session-id', 'session_id'] as const

/**
 * Serves a request. Tries the keys of its model one after the other, then those of its fallbacks, until bytes have gone
 * downstream. Rejects with the error of the last attempt, or NO_UPSTREAM_CAPACITY.
 */
export function serve(ctx: RequestContext, parts: ServeParts): Promise<void> {
  const { body } = ctx
  if (body === null) throw new GatewayError('INTERNAL')
  return new Serving(ctx, body, parts).run()
}

class Serving {
  readonly #ctx: RequestContext
  readonly #body: RequestBody
  readonly #parts: ServeParts
  readonly #tenant: string
  readonly #affinity: string | null
  #waitLeftMs: number
  #last: GatewayError | null = null
  /** Once true, no other key and no other model is tried. */
  #hasGivenUp = false

  constructor(ctx: RequestContext, body: RequestBody, parts: ServeParts) {
    this.#ctx = ctx
    this.#body = body
    this.#parts = parts
    this.#tenant = tenantOf(ctx)
    this.#affinity = sessionOf(ctx) ?? body.affinity
    this.#waitLeftMs = parts.mayQueue() ? parts.maxQueueWaitMs : Math.min(SHORT_WAIT_MS, parts.maxQueueWaitMs)
  }

  // One function for both loops: another one that waits takes half a kilobyte while its stream lasts.
  async run(): Promise<void> {
    const { retryBudget, scheduler, maxAttempts } = this.#parts
    const { attempts } = this.#ctx
    retryBudget.begin()
    try {
      const routes = this.#routes()
      for (let index = 0; index < routes.length && !this.#hasGivenUp; index++) {
        const route = routes[index] as Route
        const before = attempts.length
        const untilMs = this.#waitLeftMs * (1 - 1 / (routes.length - index))
        let tried = NONE
        while (attempts.length - before < maxAttempts && tried.size < route.length && !this.#hasGivenUp) {
          // After UPSTREAM_AUTH the next attempt needs no retry budget: the scheduler stops using the key, so load cannot multiply.
          const isRetry = attempts.length > 0 && this.#last?.code !== 'UPSTREAM_AUTH'
          if (isRetry && !retryBudget.take()) {
            this.#hasGivenUp = true
            break
          }
          try {
            const found = this.#slot(route, tried, this.#waitLeftMs - untilMs)
            const slot = found instanceof Promise ? await found : found
            if (slot === null) break
            const dialect = this.#parts.dialectOf(this.#ctx.endpoint.bodies)
            const result = await new Attempt(this.#ctx, this.#body, slot, dialect, this.#parts).run()
            if (result.kind === 'served') return
            tried = new Set(tried).add(slot.deployment.key.id)
            this.#learn(result.error, slot)
          } finally {
            if (isRetry) retryBudget.giveBack()
          }
        }
      }
      if (this.#isUnknown()) throw modelNotFound(this.#body.model, this.#last)
      throw withRetryAfter(this.#last, scheduler.noRoom(routes[0] ?? []))
    } finally {
      retryBudget.end()
    }
  }

  /** The routes of the requested model and of the fallbacks that the client's key may use. Throws MODEL_NOT_FOUND. */
  #routes(): Route[] {
    const { scheduler, fallbacks } = this.#parts
    const { model } = this.#body
    const { servedBy } = this.#ctx.endpoint
    const route = scheduler.route(model, servedBy)
    if (route === null) {
      throw modelNotFound(model)
    }
    const routes = [route]
    for (const fallback of allowedFallbacks(this.#ctx, model, fallbacks)) {
      const other = scheduler.route(fallback, servedBy)
      if (other !== null) routes.push(other)
    }
    return routes
  }

  /** Returns null when no slot is free in time. */
  #slot(route: Route, tried: ReadonlySet<string>, maxWaitMs: number): Slot | null | Promise<Slot | null> {
    const request = { route, tried, tenant: this.#tenant, affinity: this.#affinity, maxWaitMs }
    try {
      const slot = this.#parts.scheduler.acquire(request)
      return slot instanceof WaitingSlot ? this.#queued(slot) : slot
    } catch (cause) {
      return this.#noSlot(cause)
    }
  }

  async #queued(waiting: WaitingSlot): Promise<Slot | null> {
    const { clock } = this.#parts
    const { times, exchange } = this.#ctx
    const startUs = clock.monotonicUs()
    exchange.response.onAbort(() => {
      waiting.cancel()
    })
    try {
      return await waiting.slot
    } catch (cause) {
      return this.#noSlot(cause)
    } finally {
      const waitedUs = clock.monotonicUs() - startUs
      times.queueUs += waitedUs
      this.#waitLeftMs = Math.max(0, this.#waitLeftMs - waitedUs / 1000)
    }
  }

  /** Returns null after NO_UPSTREAM_CAPACITY, when another model may have a slot. Throws any other error. */
  #noSlot(cause: unknown): null {
    const error = GatewayError.from(cause)
    if (error.code !== 'NO_UPSTREAM_CAPACITY') throw error
    this.#last ??= error
    return null
  }

  /** Whether every attempt was answered that the model does not exist. */
  #isUnknown(): boolean {
    const { attempts } = this.#ctx
    return attempts.length > 0 && attempts.every(({ outcome }) => outcome === 'UPSTREAM_NOT_FOUND')
  }

  /** Throws an error that another key would repeat. */
  #learn(failure: GatewayError, { deployment }: Slot): void {
    const error = this.#ctx.endpoint.beginsJob ? creationError(this.#ctx, failure) : failure
    this.#last = error
    if (!error.retryable) throw error
    this.#hasGivenUp = isTimeSpent(this.#ctx, deployment.provider, this.#parts.clock)
  }
}

/** @param cause the error of the last attempt, if there was one */
function modelNotFound(model: string, cause: GatewayError | null = null): GatewayError {
  return new GatewayError('MODEL_NOT_FOUND', {
    message: `The model ${JSON.stringify(model)} does not exist here, or not for this endpoint. GET /v1/models lists the models.`,
    param: '/model',
    ...(cause === null || cause.detail === null ? {} : { detail: cause.detail }),
  })
}

/** The tenant of the request in the queue: its enterprise, else its user, else its key. */
function tenantOf({ principal }: RequestContext): string {
  if (principal === null) return ''
  const { enterpriseId, userId, id } = principal.key
  return enterpriseId ?? userId ?? id
}

function sessionOf({ exchange }: RequestContext): string | null {
  for (const name of SESSION_HEADERS) {
    const value = exchange.request.headers[name]
    if (value !== undefined && value !== '') return value
  }
  return null
}

/** Adds the `Retry-After` of `noRoom` to `last`, which tells more about the cause. */
function withRetryAfter(last: GatewayError | null, noRoom: GatewayError): GatewayError {
  if (last === null) return noRoom
  if (last.retryAfterSeconds !== null || noRoom.retryAfterSeconds === null) return last
  return new GatewayError(last.code, {
    message: last.message,
    retryAfterSeconds: noRoom.retryAfterSeconds,
    ...(last.detail === null ? {} : { detail: last.detail }),
    cause: last.cause,
  })
}
