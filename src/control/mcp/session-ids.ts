import type { Seal } from '../../shared/runtime/seal.ts'

/** A client begins a new session after this. Tokens of users end no later. */
const MAX_AGE_MS = 7 * 86_400_000
const MAX_ENDED = 10_000
const LENGTH = 48

/**
 * Ids of sessions. An id is the time at which the session began, sealed for its user or key with a secret that all machines share: each
 * process recognises the ids of others, and nobody can make one.
 */
export class SessionIds {
  readonly #seal: Seal
  /** Those that clients have ended here, the oldest first. */
  readonly #ended = new Set<string>()

  constructor(seal: Seal) {
    this.#seal = seal
  }

  issue(subject: string): string {
    const began = Buffer.alloc(8)
    began.writeDoubleBE(Date.now())
    return this.#seal.seal(began, Buffer.from(subject)).toString('base64url')
  }

  /** Whether the id was issued to this subject, and may still be used. */
  isOf(id: string, subject: string): boolean {
    if (id.length !== LENGTH || this.#ended.has(id)) return false
    const began = this.#seal.open(Buffer.from(id, 'base64url'), Buffer.from(subject))
    return began !== null && began.readDoubleBE() > Date.now() - MAX_AGE_MS
  }

  end(id: string): void {
    this.#ended.add(id)
    if (this.#ended.size <= MAX_ENDED) return
    for (const oldest of this.#ended) {
      this.#ended.delete(oldest)
      break
    }
  }
}
