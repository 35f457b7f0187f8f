import type { GatewayError } from '../../shared/core/errors.ts'
import type { LogFilter } from '../store/log-filter.ts'
import { isListed } from '../store/log-match.ts'
import type { RequestLogRow } from '../store/request-log.ts'
import type { Selected } from './log-scope.ts'
import type { RecentRows } from './recent-rows.ts'

/** Without events, a comment is sent this often, so that no proxy takes the stream for dead. */
const COMMENT_EVERY_MS = 15_000
/** The most requests in one event. */
const MAX_ENTRIES = 50
/** The time after which a client should come back when the connection is lost. */
const RETRY_MS = 2_000

/** The state of an upstream key, as clients get it. */
export interface UpstreamEntry {
  readonly provider_id: string
  readonly upstream_key_id: string
}

/** The present load of the platform, as clients get it. */
export interface Load {
  readonly now: object
  readonly upstreams: readonly UpstreamEntry[]
}

export interface LiveRequest {
  readonly userId: string
  readonly isPlatformAdmin: boolean
  /** Reads the rights of the caller again, and what the caller may see then. Rejects when the caller may see nothing any more. */
  readonly select: () => Promise<Selected<LogFilter>>
  readonly render: (row: RequestLogRow) => object
  /** Null: the caller does not see the load. */
  readonly load: (() => Load) | null
  /** The id of the last event that the client has from an earlier stream. */
  readonly lastEventId: string | null
  /** Aborted when the client leaves. */
  readonly signal: AbortSignal
}

/** Events that a stream has to send. They are bounded: while the client is slow, further rows are counted and older states replaced. */
export class LiveStream {
  readonly request: LiveRequest
  /** Null: the rights are not known at present, and no row is given. */
  #selected: Selected<LogFilter> | null = null
  #checkedMs = -Infinity
  /** Reads up to this place have been given; null: none before the stream is ready. */
  #place: number | null = null
  /** Newest first. */
  #entries: object[] = []
  #omitted = 0
  #isIncomplete = false
  #load: Load | null = null
  /** The states of upstream keys that the client knows. */
  readonly #known = new Map<string, string>()
  #end: GatewayError | null = null
  #wake: () => void = () => undefined

  constructor(request: LiveRequest) {
    this.request = request
  }

  /** The time of the last check of the rights. */
  get checkedMs(): number {
    return this.#checkedMs
  }

  /** Reads rights and filters. Rejects as `select` does; then no row is given until a later check. */
  async check(nowMs: number): Promise<void> {
    try {
      this.#selected = await this.request.select()
      this.#checkedMs = nowMs
    } catch (cause) {
      this.#selected = null
      throw cause
    }
  }

  /** Begins after the last event that the client has, or now, with the present load. Returns whether the client misses nothing. */
  begin(recent: RecentRows): boolean {
    const { lastEventId } = this.request
    const place = lastEventId === null ? null : recent.placeOf(lastEventId)
    this.#place = place ?? recent.place
    this.take(recent)
    this.refresh()
    return place !== null
  }

  /** Whether it would take rows with the rights that it had at the last check. */
  wants(recent: RecentRows): boolean {
    const selected = this.#selected
    if (this.#place === null || selected === null) return false
    const { scope, filter } = selected
    return recent.after(this.#place).reads.some(({ rows }) => rows.some((row) => isListed(row, scope, filter)))
  }

  /** Takes the rows that it does not have yet. */
  take(recent: RecentRows): void {
    if (this.#place === null || this.#selected === null) return
    const { reads, isComplete } = recent.after(this.#place)
    this.#place = recent.place
    if (!isComplete) this.#isIncomplete = true
    for (const { rows, omitted } of reads) this.#add(this.#selected, rows, omitted)
    if (this.#hasEvents) this.#wake()
  }

  refresh(): void {
    if (this.#place === null || this.#selected === null || this.request.load === null) return
    this.#load = this.request.load()
    this.#wake()
  }

  finish(reason: GatewayError): void {
    this.#end ??= reason
    this.#wake()
  }

  /** Ends the wait for events, because the client has left. */
  leave(): void {
    this.#wake()
  }

  /** Yields until the client leaves or the stream ends. */
  async *events(recent: RecentRows, isResumed: boolean): AsyncGenerator<Buffer> {
    const { signal } = this.request
    yield Buffer.from(`retry: ${RETRY_MS}\n${this.#event(recent, 'ready', { resumed: isResumed })}`)
    while (!signal.aborted) {
      if (!this.#hasEvents) await this.#woken()
      // The client may have left meanwhile.
      if (this.request.signal.aborted) return
      const { reason, text } = this.#taken(recent)
      yield Buffer.from(text)
      if (reason !== null) return
    }
  }

  #add({ scope, filter }: Selected<LogFilter>, rows: readonly RequestLogRow[], unread: number): void {
    const matching = rows.filter((row) => isListed(row, scope, filter))
    const shown = matching.slice(0, MAX_ENTRIES).map(this.request.render)
    const entries = [...shown, ...this.#entries]
    this.#entries = entries.slice(0, MAX_ENTRIES)
    this.#omitted += matching.length - shown.length + entries.length - this.#entries.length
    if (unread === 0) return
    if (scope.kind === 'everyone' && Object.keys(filter).length === 0) this.#omitted += unread
    else this.#isIncomplete = true
  }

  get #hasEvents(): boolean {
    return this.#entries.length > 0 || this.#isIncomplete || this.#load !== null || this.#end !== null
  }

  /** Resolves when there is an event, when a comment is due, or when the client leaves. */
  async #woken(): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    await new Promise<void>((resolve) => {
      this.#wake = resolve
      timer = setTimeout(resolve, COMMENT_EVERY_MS).unref()
    })
    clearTimeout(timer)
  }

  #taken(recent: RecentRows): { readonly reason: GatewayError | null; readonly text: string } {
    const reason = this.#end
    const events: string[] = []
    if (this.#entries.length > 0 || this.#isIncomplete) {
      const data = { data: this.#entries, omitted: this.#omitted, incomplete: this.#isIncomplete }
      events.push(this.#event(recent, 'requests', data))
    }
    if (this.#load !== null) events.push(...this.#loadEvents(recent, this.#load))
    if (reason !== null) events.push(this.#event(recent, 'end', { code: reason.code, message: reason.message }))
    // An id without data moves the place from which the client comes back.
    if (events.length === 0) events.push(`: nothing new\nid: ${this.#id(recent)}\n\n`)
    this.#entries = []
    this.#omitted = 0
    this.#isIncomplete = false
    this.#load = null
    return { reason, text: events.join('') }
  }

  #loadEvents(recent: RecentRows, { now, upstreams }: Load): string[] {
    const named = new Map(upstreams.map((entry) => [`${entry.provider_id}\0${entry.upstream_key_id}`, entry]))
    const changed: UpstreamEntry[] = []
    for (const [name, entry] of named) {
      const text = JSON.stringify(entry)
      if (this.#known.get(name) !== text) changed.push(entry)
      this.#known.set(name, text)
    }
    const gone = [...this.#known.keys()].filter((name) => !named.has(name))
    for (const name of gone) this.#known.delete(name)
    const removed = gone.map((name) => {
      const [provider = '', key = ''] = name.split('\0')
      return { provider_id: provider, upstream_key_id: key }
    })
    const events = [this.#event(recent, 'now', now)]
    if (changed.length + removed.length > 0) events.push(this.#event(recent, 'upstreams', { data: changed, removed }))
    return events
  }

  #event(recent: RecentRows, name: string, data: object): string {
    return `event: ${name}\nid: ${this.#id(recent)}\ndata: ${JSON.stringify(data)}\n\n`
  }

  #id(recent: RecentRows): string {
    return recent.idOf(this.#place ?? recent.place)
  }
}
