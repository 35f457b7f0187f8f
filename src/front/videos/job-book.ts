import type { Claim, ClaimRequest } from '../../shared/core/job-claim.ts'

/** Remembers which requests have created a job. */
export interface JobBook {
  claim(request: ClaimRequest): Promise<Claim>
  /** The request has created the job. Resolves once this is stored, or when storing it takes too long. */
  begun(request: ClaimRequest, id: string): Promise<void>
  /** The request has certainly created no job: the next request may try. */
  release(request: ClaimRequest): void
  /** It is unknown whether the request has created a job. */
  doubt(request: ClaimRequest): void
}

interface Entry {
  readonly untilMs: number
  claim: Claim
}

const MAX_ENTRIES = 100_000

/** The book of one process, in memory and bounded. Removes the oldest entries first. */
export class LocalJobBook implements JobBook {
  readonly #now: () => number
  readonly #entries = new Map<string, Entry>()

  constructor(now: () => number) {
    this.#now = now
  }

  claim(request: ClaimRequest): Promise<Claim> {
    const name = nameOf(request)
    const entry = this.#entries.get(name)
    if (entry !== undefined && entry.untilMs > this.#now()) return Promise.resolve(entry.claim)
    this.#entries.delete(name)
    const [oldest] = this.#entries.keys()
    if (this.#entries.size >= MAX_ENTRIES && oldest !== undefined) this.#entries.delete(oldest)
    this.#entries.set(name, { untilMs: request.untilMs, claim: { kind: 'busy' } })
    return Promise.resolve({ kind: 'new' })
  }

  begun(request: ClaimRequest, id: string): Promise<void> {
    this.#set(request, { kind: 'job', id })
    return Promise.resolve()
  }

  release(request: ClaimRequest): void {
    this.#entries.delete(nameOf(request))
  }

  doubt(request: ClaimRequest): void {
    this.#set(request, { kind: 'unknown' })
  }

  #set(request: ClaimRequest, claim: Claim): void {
    this.#entries.set(nameOf(request), { untilMs: request.untilMs, claim })
  }
}

function nameOf({ owner, fingerprint }: ClaimRequest): string {
  return `${owner} ${fingerprint}`
}
