export type Outcome = 'ok' | 'aborted' | 'fault'

/** One finished request. Times are Unix milliseconds. */
export interface RequestRecord {
  /** Position in the order of arrival, from 1; a reset does not restart it. */
  readonly n: number
  readonly credential: string
  readonly path: string
  readonly model: string | null
  readonly user: string | null
  readonly startedAt: number
  /** Time of the first byte of the answer; null when there was none. */
  readonly firstByteAt: number | null
  readonly endedAt: number
  readonly outcome: Outcome
  /** The fault that was applied, whatever the outcome. */
  readonly fault: string | null
  /** 0 when no head was sent. */
  readonly status: number
  readonly promptTokens: number
  readonly completionTokens: number
  readonly cachedTokens: number
  readonly bytesOut: number
  readonly events: number
  /** When the simulator saw that the peer had left; null unless aborted. */
  readonly abortSeenAt: number | null
}

export interface Totals {
  started: number
  /** Ended by the simulator: `ok` and `faults`. */
  finished: number
  ok: number
  faults: number
  aborted: number
  inFlight: number
  maxInFlight: number
  /** Tokens written to the socket, whatever usage the answer reported. */
  promptTokens: number
  completionTokens: number
  cachedTokens: number
  bytesWritten: number
  eventsWritten: number
}

/** The record of a request in flight. */
export type OpenRequest = { -readonly [Member in keyof RequestRecord]: RequestRecord[Member] } & {
  readonly epoch: number
  readonly account: Totals
}

const MAX_RECORDS = 200_000
const MAX_CREDENTIALS = 10_000
/** Has the counts of all credentials beyond `MAX_CREDENTIALS`. */
export const OTHER_CREDENTIALS = '(other)'

/** Counts what the simulator really produced. Its memory is bounded for any input. */
export class Ledger {
  readonly #maxRecords: number
  #ring: OpenRequest[] = []
  #oldest = 0
  #accounts = new Map<string, Totals>()
  #total = emptyTotals()
  #epoch = 0
  #n = 0

  constructor(maxRecords: number = MAX_RECORDS) {
    this.#maxRecords = maxRecords
  }

  begin(credential: string, path: string): OpenRequest {
    const account = this.#accountOf(credential)
    enter(account)
    enter(this.#total)
    return {
      n: ++this.#n,
      credential,
      path,
      model: null,
      user: null,
      startedAt: Date.now(),
      firstByteAt: null,
      endedAt: 0,
      outcome: 'ok',
      fault: null,
      status: 0,
      promptTokens: 0,
      completionTokens: 0,
      cachedTokens: 0,
      bytesOut: 0,
      events: 0,
      abortSeenAt: null,
      epoch: this.#epoch,
      account,
    }
  }

  wrote(request: OpenRequest, bytes: number, events: number): void {
    request.firstByteAt ??= Date.now()
    request.bytesOut += bytes
    request.events += events
    if (request.epoch !== this.#epoch) return
    request.account.bytesWritten += bytes
    this.#total.bytesWritten += bytes
    request.account.eventsWritten += events
    this.#total.eventsWritten += events
  }

  produced(request: OpenRequest, promptTokens: number, cachedTokens: number, completionTokens: number): void {
    request.promptTokens += promptTokens
    request.cachedTokens += cachedTokens
    request.completionTokens += completionTokens
    if (request.epoch !== this.#epoch) return
    for (const totals of [request.account, this.#total]) {
      totals.promptTokens += promptTokens
      totals.cachedTokens += cachedTokens
      totals.completionTokens += completionTokens
    }
  }

  end(request: OpenRequest, outcome: Outcome): void {
    request.endedAt = Date.now()
    request.outcome = outcome
    if (outcome === 'aborted') request.abortSeenAt = request.endedAt
    request.account.inFlight--
    this.#total.inFlight--
    if (request.epoch !== this.#epoch) return
    leave(request.account, outcome)
    leave(this.#total, outcome)
    this.#keep(request)
  }

  get totals(): Readonly<Totals> {
    return { ...this.#total }
  }

  /** The counts of one credential; all zero for an unknown one. */
  of(credential: string): Readonly<Totals> {
    return { ...(this.#accounts.get(credential) ?? emptyTotals()) }
  }

  get credentials(): string[] {
    return [...this.#accounts.keys()]
  }

  /** Finished requests with `n` greater than `since`, in the order of their end. */
  records(since = 0): RequestRecord[] {
    const ordered = [...this.#ring.slice(this.#oldest), ...this.#ring.slice(0, this.#oldest)]
    const wanted = since === 0 ? ordered : ordered.filter((record) => record.n > since)
    return wanted.map(({ epoch: _epoch, account: _account, ...record }) => record)
  }

  /** Clears all counts and records. Requests in flight stay in `inFlight` until they end, and are not recorded. */
  reset(): void {
    this.#epoch++
    this.#ring = []
    this.#oldest = 0
    this.#total = { ...emptyTotals(), inFlight: this.#total.inFlight, maxInFlight: this.#total.inFlight }
    for (const [credential, account] of this.#accounts) {
      if (account.inFlight === 0) this.#accounts.delete(credential)
      else Object.assign(account, { ...emptyTotals(), inFlight: account.inFlight, maxInFlight: account.inFlight })
    }
  }

  #accountOf(credential: string): Totals {
    const known = this.#accounts.get(credential)
    if (known !== undefined) return known
    if (this.#accounts.size >= MAX_CREDENTIALS && credential !== OTHER_CREDENTIALS) {
      return this.#accountOf(OTHER_CREDENTIALS)
    }
    const account = emptyTotals()
    this.#accounts.set(credential, account)
    return account
  }

  #keep(record: OpenRequest): void {
    if (this.#ring.length < this.#maxRecords) {
      this.#ring.push(record)
      return
    }
    this.#ring[this.#oldest] = record
    this.#oldest = (this.#oldest + 1) % this.#maxRecords
  }
}

function emptyTotals(): Totals {
  return {
    started: 0,
    finished: 0,
    ok: 0,
    faults: 0,
    aborted: 0,
    inFlight: 0,
    maxInFlight: 0,
    promptTokens: 0,
    completionTokens: 0,
    cachedTokens: 0,
    bytesWritten: 0,
    eventsWritten: 0,
  }
}

function enter(totals: Totals): void {
  totals.started++
  totals.inFlight++
  if (totals.inFlight > totals.maxInFlight) totals.maxInFlight = totals.inFlight
}

function leave(totals: Totals, outcome: Outcome): void {
  if (outcome === 'aborted') totals.aborted++
  else {
    totals.finished++
    if (outcome === 'ok') totals.ok++
    else totals.faults++
  }
}
