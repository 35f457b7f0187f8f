import type { AnswerHead, AttemptOutcome, Choice, Deployment, Slot } from '../../shared/core/deployment.ts'
import type { Candidate } from './catalog.ts'

/** Hears of the end of a slot's use. */
export interface SlotOwner {
  answered(slot: HeldSlot, head: AnswerHead): void
  released(slot: HeldSlot, outcome: AttemptOutcome): void
}

/** A slot in use. Whatever is said of it after its release goes unheard. */
export class HeldSlot implements Slot {
  readonly candidate: Candidate
  readonly choice: Choice
  readonly startedAtMs: number
  /** Breakers that this call is the probe of. */
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
