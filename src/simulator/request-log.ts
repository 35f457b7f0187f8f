import { createHash } from 'node:crypto'

const MAX_ENTRIES = 1000
const MAX_KEPT_BYTES = 64 * 1024 * 1024
const MAX_BODY_BYTES = 64 * 1024

/** A request as it arrived. Times are Unix milliseconds. */
export interface RequestLogEntry {
  readonly n: number
  readonly method: string
  readonly path: string
  readonly query: string
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly credential: string
  readonly startedAt: number
  bodyAt: number | null
  firstByteAt: number | null
  endedAt: number | null
  status: number
  /** The first 64 KiB. */
  body: Buffer
  bodyBytes: number
  /** SHA-256 of a body that was not kept whole; null: `list` computes it. */
  bodyDigest: string | null
}

/** An entry as the control API shows it. */
export interface LoggedRequest extends Omit<RequestLogEntry, 'body' | 'bodyDigest'> {
  /** The first 64 KiB, decoded as UTF-8 with replacement characters. */
  readonly body: string
  readonly bodySha256: string
}

/** The last requests, bounded in number and bytes. */
export class RequestLog {
  #entries: RequestLogEntry[] = []
  #first = 0
  #keptBytes = 0

  add(entry: RequestLogEntry): void {
    this.#entries.push(entry)
    this.#trim()
  }

  setBody(entry: RequestLogEntry, body: Buffer): void {
    entry.bodyAt = Date.now()
    entry.bodyBytes = body.length
    if (body.length > MAX_BODY_BYTES) entry.bodyDigest = sha256(body)
    // The start is copied: a view would keep the whole of a large body in memory.
    entry.body = body.length > MAX_BODY_BYTES ? Buffer.from(body.subarray(0, MAX_BODY_BYTES)) : body
    this.#keptBytes += entry.body.length
    this.#trim()
  }

  /** The requests with `n` greater than `since`, in the order of arrival. */
  list(since: number): LoggedRequest[] {
    const found: LoggedRequest[] = []
    for (let i = this.#first; i < this.#entries.length; i++) {
      const entry = this.#entries[i]
      if (entry === undefined || entry.n <= since) continue
      const { body, bodyDigest, ...rest } = entry
      found.push({ ...rest, body: body.toString('utf8'), bodySha256: bodyDigest ?? sha256(body) })
    }
    return found
  }

  clear(): void {
    this.#entries = []
    this.#first = 0
    this.#keptBytes = 0
  }

  #trim(): void {
    while (
      this.#entries.length - this.#first > MAX_ENTRIES ||
      (this.#keptBytes > MAX_KEPT_BYTES && this.#entries.length - this.#first > 1)
    ) {
      this.#keptBytes -= this.#entries[this.#first]?.body.length ?? 0
      this.#first++
    }
    // Removing from the front of an array moves the rest: this happens once for each thousand entries.
    if (this.#first < MAX_ENTRIES) return
    this.#entries = this.#entries.slice(this.#first)
    this.#first = 0
  }
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}
