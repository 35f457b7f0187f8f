import type { Claim, ClaimRequest } from '../../shared/core/job-claim.ts'

/** Remembers which requests have begun a job. */
export interface JobBook {
  claim(request: ClaimRequest): Promise<Claim>
  /** The job has been begun; resolves once that is safe, or when keeping it safe takes too long. */
  begun(request: ClaimRequest, id: string): Promise<void>
  /** It has not, for sure: the next may try. */
  release(request: ClaimRequest): void
  /** Nobody knows. */
  doubt(request: ClaimRequest): void
}

interface Entry {
  readonly untilMs: number
  claim: Claim
}

const MAX_ENTRIES = 100_000

/** The book of one process, kept in memory and bounded: the oldest entries go first. */
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
    this.#note(request, { kind: 'job', id })
    return Promise.resolve()
  }

  release(request: ClaimRequest): void {
    this.#entries.delete(nameOf(request))
  }

  doubt(request: ClaimRequest): void {
    this.#note(request, { kind: 'unknown' })
  }

  #note(request: ClaimRequest, claim: Claim): void {
    this.#entries.set(nameOf(request), { untilMs: request.untilMs, claim })
  }
}

function nameOf({ owner, fingerprint }: ClaimRequest): string {
  return `${owner} ${fingerprint}`
}
