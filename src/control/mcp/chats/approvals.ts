import type { Seal } from '../../../shared/runtime/seal.ts'

/** A client has this long to approve a call. */
const MAX_AGE_MS = 86_400_000
const PREFIX = 'mcpr_'

/** A call that waits for its approval. */
interface AskedCall {
  readonly server: string
  readonly tool: string
  /** JSON text. */
  readonly input: string
}

/**
 * Ids of approval requests. An id is the time of the request, sealed for its key, server, tool and arguments: nobody can make one, or use it for
 * another call.
 */
export class Approvals {
  readonly #seal: Seal
  readonly #subject: string

  constructor(seal: Seal, subject: string) {
    this.#seal = seal
    this.#subject = subject
  }

  issue(call: AskedCall): string {
    const asked = Buffer.alloc(8)
    asked.writeDoubleBE(Date.now())
    return PREFIX + this.#seal.seal(asked, this.#contextOf(call)).toString('base64url')
  }

  /** Whether the id was issued for this call, and may still be used. */
  isOf(id: string, call: AskedCall): boolean {
    if (!id.startsWith(PREFIX)) return false
    const asked = this.#seal.open(Buffer.from(id.slice(PREFIX.length), 'base64url'), this.#contextOf(call))
    return asked !== null && asked.readDoubleBE() > Date.now() - MAX_AGE_MS
  }

  #contextOf({ server, tool, input }: AskedCall): Buffer {
    return Buffer.from(JSON.stringify([this.#subject, server, tool, input]))
  }
}
