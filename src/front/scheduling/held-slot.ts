import type { AnswerHead, AttemptOutcome, Choice, Deployment, Slot } from '../../shared/core/deployment.ts'
import type { Candidate } from './catalog.ts'

/** Learns from the answers and the release of a slot. */
export interface SlotOwner {
  answered(slot: HeldSlot, head: AnswerHead): void
  released(slot: HeldSlot, outcome: AttemptOutcome): void
}

/** A slot in use. Calls after its release have no effect. */
export class HeldSlot implements Slot {
  readonly candidate: Candidate
  readonly choice: Choice
  readonly startedAtMs: number
  /** Whether this call probes the breaker of the key, and that of the provider. */
  probesKey: boolean
  probesProvider: boolean
  readonly #owner: SlotOwner
  #isHeld = true

  constructor(candidate: Candidate, choice: Choice, startedAtMs: number, owner: SlotOwner) {
    this.candidate = candidate
    this.choice = choice
    this.startedAtMs = startedAtMs
    this.probesKey = !candidate.key.breaker.closed
    this.probesProvider = !candidate.key.provider.breaker.closed
    this.#owner = owner
  }

  get deployment(): Deployment {
    return this.candidate.deployment
  }

  answered(head: AnswerHead): void {
    if (this.#isHeld) this.#owner.answered(this, head)
  }

  release(outcome: AttemptOutcome): void {
    if (!this.#isHeld) return
    this.#isHeld = false
    this.#owner.released(this, outcome)
  }
}
