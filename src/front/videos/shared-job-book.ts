import type { Claim, ClaimMessage, ClaimReply, ClaimRequest } from '../../shared/core/job-claim.ts'
import type { DeadlineClock } from '../../shared/runtime/deadlines.ts'
import { Deadline } from '../../shared/runtime/deadlines.ts'
import type { JobBook } from './job-book.ts'

export interface SharedJobBookParts {
  /** The book of this front, which decides alone while the control process is down. */
  readonly local: JobBook
  readonly deadlines: DeadlineClock
  /** Returns false when there is no connection to the control process. */
  readonly send: (message: ClaimMessage) => boolean
  /** The longest wait for an answer of the control process. */
  readonly patienceMs: number
}

interface Question {
  readonly resolve: (claim: Claim | null) => void
  readonly deadline: Deadline
}

/** The book of all fronts, which the control process keeps. */
export class SharedJobBook implements JobBook {
  readonly #parts: SharedJobBookParts
  readonly #questions = new Map<number, Question>()
  readonly #asking = new Map<string, Promise<Claim>>()
  #ids = 0

  constructor(parts: SharedJobBookParts) {
    this.#parts = parts
  }

  async claim(request: ClaimRequest): Promise<Claim> {
    const name = `${request.owner} ${request.fingerprint}`
    // One request per name asks the control process at a time; the others wait for it and then read the local book.
    for (let asking = this.#asking.get(name); asking !== undefined; asking = this.#asking.get(name)) await asking
    const asking = this.#claim(request).finally(() => this.#asking.delete(name))
    this.#asking.set(name, asking)
    return asking
  }

  async #claim(request: ClaimRequest): Promise<Claim> {
    const { local } = this.#parts
    const known = await local.claim(request)
    if (known.kind !== 'new') return known
    const claim = (await this.#ask('claim', request, null)) ?? known
    if (claim.kind === 'job') await local.begun(request, claim.id)
    else if (claim.kind !== 'new') local.release(request)
    return claim
  }

  async begun(request: ClaimRequest, id: string): Promise<void> {
    await this.#parts.local.begun(request, id)
    await this.#ask('begun', request, id)
  }

  release(request: ClaimRequest): void {
    this.#parts.local.release(request)
    this.#tell('release', request)
  }

  doubt(request: ClaimRequest): void {
    this.#parts.local.doubt(request)
    this.#tell('doubt', request)
  }

  receive({ question, claim }: ClaimReply): void {
    this.#settle(question, claim)
  }

  /** The connection is lost: open questions end without an answer. */
  lost(): void {
    for (const id of [...this.#questions.keys()]) this.#settle(id, null)
  }

  #tell(action: 'release' | 'doubt', request: ClaimRequest): void {
    this.#parts.send({ type: 'job-claim', question: ++this.#ids, action, job: null, ...plain(request) })
  }

  /** Resolves to null when there is no answer in time. */
  #ask(action: 'claim' | 'begun', request: ClaimRequest, job: string | null): Promise<Claim | null> {
    const { deadlines, send, patienceMs } = this.#parts
    const id = ++this.#ids
    return new Promise((resolve) => {
      const deadline = new Deadline(() => {
        this.#settle(id, null)
      })
      deadline.atMs = deadlines.nowMs + patienceMs
      this.#questions.set(id, { resolve, deadline })
      deadlines.watch(deadline)
      if (!send({ type: 'job-claim', question: id, action, job, ...plain(request) })) this.#settle(id, null)
    })
  }

  #settle(id: number, claim: Claim | null): void {
    const question = this.#questions.get(id)
    if (question === undefined) return
    this.#questions.delete(id)
    this.#parts.deadlines.forget(question.deadline)
    question.resolve(claim)
  }
}

function plain({ owner, fingerprint, untilMs }: ClaimRequest): ClaimRequest {
  return { owner, fingerprint, untilMs }
}
