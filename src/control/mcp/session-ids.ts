import type { ClientCapabilities } from '@modelcontextprotocol/server'
import type { Seal } from '../../shared/runtime/seal.ts'

/** A client begins a new session after this. Tokens of users end no later. */
const MAX_AGE_MS = 7 * 86_400_000
const MAX_ENDED = 10_000
/** The time, the flags, and two bytes with which a sealed id is a multiple of three bytes: it has one spelling. */
const BYTES = 11
const LENGTH = 52
/** Ids of earlier versions have the time alone. */
const EARLIER_LENGTH = 48
const FLAGS_AT = 8

/** The flags of a session: what its client said that it can be asked for. */
const ELICITATION = 1
const FORMS = 2
const PAGES = 4
const SAMPLING = 8

/**
 * Ids of sessions. An id is the time at which the session began, and what its client can be asked for, sealed for its user or key with a
 * secret that all machines share: each process recognises the ids of others, and nobody can make one.
 */
export class SessionIds {
  readonly #seal: Seal
  /** Those that clients have ended here, the oldest first. */
  readonly #ended = new Set<string>()

  constructor(seal: Seal) {
    this.#seal = seal
  }

  issue(subject: string, capabilities: ClientCapabilities): string {
    const began = Buffer.alloc(BYTES)
    began.writeDoubleBE(Date.now())
    began.writeUInt8(flagsOf(capabilities), FLAGS_AT)
    return this.#seal.seal(began, Buffer.from(subject)).toString('base64url')
  }

  /** Returns the capabilities of the client of a session. Null: the id was not issued to this subject, or may not be used any more. */
  capabilitiesOf(id: string, subject: string): ClientCapabilities | null {
    if ((id.length !== LENGTH && id.length !== EARLIER_LENGTH) || this.#ended.has(id)) return null
    const began = this.#seal.open(Buffer.from(id, 'base64url'), Buffer.from(subject))
    if (began === null || began.readDoubleBE() <= Date.now() - MAX_AGE_MS) return null
    return capabilitiesIn(id.length === LENGTH ? began.readUInt8(FLAGS_AT) : 0)
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

function flagsOf({ elicitation, sampling }: ClientCapabilities): number {
  const flags = [
    elicitation === undefined ? 0 : ELICITATION,
    elicitation?.form === undefined ? 0 : FORMS,
    elicitation?.url === undefined ? 0 : PAGES,
    sampling === undefined ? 0 : SAMPLING,
  ]
  return flags.reduce((sum, flag) => sum + flag, 0)
}

function capabilitiesIn(flags: number): ClientCapabilities {
  const has = (flag: number): boolean => (flags & flag) !== 0
  const elicitation = { ...(has(FORMS) ? { form: {} } : {}), ...(has(PAGES) ? { url: {} } : {}) }
  return { ...(has(ELICITATION) ? { elicitation } : {}), ...(has(SAMPLING) ? { sampling: {} } : {}) }
}
