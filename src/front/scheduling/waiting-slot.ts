import { Deadline } from '../../shared/runtime/deadlines.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import type { Slot } from '../../shared/core/deployment.ts'
import type { Candidate, Route } from './catalog.ts'
import type { KeyState } from './key-state.ts'
import type { SlotRequest } from './slot-request.ts'
import type { Waiter } from './wait-queue.ts'

/** A place in the queue. `slot` rejects with NO_UPSTREAM_CAPACITY, or with CLIENT_CLOSED after `cancel`. */
export class WaitingSlot implements Waiter {
  readonly request: SlotRequest
  readonly candidates: ReadonlyMap<KeyState, Candidate>
  readonly deadline: Deadline
  readonly sinceUs: number
  readonly slot: Promise<Slot>
  readonly #leave: (waiter: WaitingSlot, error: GatewayError) => void
  #resolve: (slot: Slot) => void = () => undefined
  #reject: (error: GatewayError) => void = () => undefined

  constructor(
    request: SlotRequest,
    sinceUs: number,
    on: {
      readonly expire: (waiter: WaitingSlot) => void
      readonly leave: (waiter: WaitingSlot, error: GatewayError) => void
    },
  ) {
    this.request = request
    this.candidates = untried(request.route, request.tried)
    this.sinceUs = sinceUs
    this.deadline = new Deadline(() => {
      on.expire(this)
    })
    this.#leave = on.leave
    this.slot = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
  }

  get tenant(): string {
    return this.request.tenant
  }

  /** The client is gone. */
  cancel(): void {
    this.#leave(this, new GatewayError('CLIENT_CLOSED'))
  }

  serve(slot: Slot): void {
    this.#resolve(slot)
  }

  refuse(error: GatewayError): void {
    this.#reject(error)
  }
}

/** The best candidate of each untried key: one key may serve a model under several upstream names. */
function untried(route: Route, tried: ReadonlySet<string>): ReadonlyMap<KeyState, Candidate> {
  const candidates = new Map<KeyState, Candidate>()
  for (const candidate of route) {
    if (!tried.has(candidate.key.id) && !candidates.has(candidate.key)) candidates.set(candidate.key, candidate)
  }
  return candidates
}
