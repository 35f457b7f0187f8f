import { GatewayError } from '../../shared/core/errors.ts'
import type { Clock } from '../../shared/runtime/clock.ts'
import type { Queryable } from '../store/database.ts'
import { LogTail } from '../store/log-tail.ts'
import { LiveStream } from './live-stream.ts'
import type { LiveRequest } from './live-stream.ts'
import { RecentRows } from './recent-rows.ts'

/** A stream gets rows at most this often: three updates a second with the load, which is sent every second. */
const READ_EVERY_MS = 500
const LOAD_EVERY_MS = 1_000
/** The rights of each stream are read again at this interval, and each time before it gets rows. */
const CHECK_EVERY_MS = 2_000
/** A stream ends when its rights could not be read for this long. */
const CHECK_WITHIN_MS = 15_000
/** A client may come back within this time after the last stream has ended, without missing rows. */
const KEPT_MS = 60_000
const MAX_STREAMS_OF_A_USER = 4
const MAX_STREAMS = 64
/** Streams that only platform admins can open, so that users cannot lock them out. */
const RESERVED_FOR_ADMINS = 16

interface Reading {
  readonly tail: LogTail
  readonly recent: RecentRows
}

/** Live streams of new rows of the log, as server-sent events. All streams share one reader, which works while there is one. */
export class LiveLog {
  readonly #database: Queryable
  readonly #clock: Clock
  readonly #onFault: (cause: unknown) => void
  readonly #streams = new Set<LiveStream>()
  /** Resolves after the first read of the reader at work; null while there is none. */
  #started: Promise<Reading> | null = null
  /** The state of the last reader, for some time. */
  #kept: Reading | null = null
  #forgetting: NodeJS.Timeout | undefined
  #isFailing = false
  #isClosed = false
  /** The newest use of the database by the reader; it never rejects. */
  #underWay: Promise<void> = Promise.resolve()

  constructor(database: Queryable, clock: Clock, onFault: (cause: unknown) => void) {
    this.#database = database
    this.#clock = clock
    this.#onFault = onFault
  }

  /** Rejects with CONCURRENCY_EXCEEDED when the user, or all users together, have too many streams. */
  async open(request: LiveRequest): Promise<AsyncGenerator<Buffer>> {
    this.#refuse(request)
    const stream = new LiveStream(request)
    // Counted before anything is waited for.
    this.#streams.add(stream)
    const leave = (): void => {
      this.#streams.delete(stream)
      stream.leave()
    }
    request.signal.addEventListener('abort', leave, { once: true })
    try {
      await stream.check(this.#clock.now())
      if (this.#isClosed) throw new GatewayError('CONTROL_UNAVAILABLE', { retryAfterSeconds: 1 })
      const { recent } = await (this.#started ??= this.#start())
      return this.#events(stream, recent, leave)
    } catch (cause) {
      leave()
      throw cause
    }
  }

  /** Ends all streams. Resolves when the reader does not use the database any more. */
  close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#forgetting)
    for (const stream of this.#streams) stream.finish(new GatewayError('CONTROL_UNAVAILABLE'))
    return this.#underWay
  }

  #refuse({ userId, isPlatformAdmin, signal }: LiveRequest): void {
    // Nobody would read the stream, and no event would end it.
    if (signal.aborted) throw new GatewayError('CLIENT_CLOSED')
    if (this.#isClosed) throw new GatewayError('CONTROL_UNAVAILABLE', { retryAfterSeconds: 1 })
    const own = [...this.#streams].filter(({ request }) => request.userId === userId).length
    const most = isPlatformAdmin ? MAX_STREAMS : MAX_STREAMS - RESERVED_FOR_ADMINS
    if (own < MAX_STREAMS_OF_A_USER && this.#streams.size < most) return
    const message =
      own < MAX_STREAMS_OF_A_USER
        ? 'There are too many live streams at the moment. Try again later.'
        : `You have ${MAX_STREAMS_OF_A_USER} live streams: close one of them.`
    throw new GatewayError('CONCURRENCY_EXCEEDED', { message, retryAfterSeconds: 5 })
  }

  async *#events(stream: LiveStream, recent: RecentRows, leave: () => void): AsyncGenerator<Buffer> {
    try {
      yield* stream.events(recent, stream.begin(recent))
    } finally {
      stream.request.signal.removeEventListener('abort', leave)
      leave()
    }
  }

  /** Starts the reader. Resolves when it has found where the log ends. */
  async #start(): Promise<Reading> {
    clearTimeout(this.#forgetting)
    const reading = (this.#kept ??= { tail: new LogTail(), recent: new RecentRows() })
    const first = this.#read(reading)
    this.#underWay = first.catch(() => undefined)
    try {
      await first
    } catch (cause) {
      this.#rest()
      throw cause
    }
    void this.#run(reading)
    return reading
  }

  /** Ends when there is no stream. */
  async #run(reading: Reading): Promise<void> {
    let loadedMs = this.#clock.now()
    while (this.#streams.size > 0) {
      await new Promise((resolve) => setTimeout(resolve, READ_EVERY_MS).unref())
      if (this.#isClosed) break
      const nowMs = this.#clock.now()
      const isLoadDue = nowMs - loadedMs >= LOAD_EVERY_MS
      this.#underWay = this.#reported(this.#turn(reading, nowMs, isLoadDue))
      await this.#underWay
      if (isLoadDue) loadedMs = nowMs
    }
    this.#rest()
  }

  /** Reports the first of several faults in a row: the next turn finds the same rows, when the database answers again. */
  async #reported(turn: Promise<void>): Promise<void> {
    try {
      await turn
      this.#isFailing = false
    } catch (cause) {
      if (!this.#isFailing) this.#onFault(cause)
      this.#isFailing = true
    }
  }

  async #turn(reading: Reading, nowMs: number, isLoadDue: boolean): Promise<void> {
    if (isLoadDue) for (const stream of this.#streams) stream.refresh()
    try {
      await this.#read(reading)
    } finally {
      await this.#give(reading.recent, nowMs)
    }
  }

  /** Gives new rows to the streams whose callers may see them now. */
  async #give(recent: RecentRows, nowMs: number): Promise<void> {
    const due = [...this.#streams].filter(
      (stream) => nowMs - stream.checkedMs >= CHECK_EVERY_MS || stream.wants(recent),
    )
    await Promise.all(due.map((stream) => this.#check(stream, nowMs)))
    for (const stream of this.#streams) stream.take(recent)
  }

  async #check(stream: LiveStream, nowMs: number): Promise<void> {
    try {
      await stream.check(nowMs)
    } catch (cause) {
      if (cause instanceof GatewayError) stream.finish(cause)
      else if (nowMs - stream.checkedMs >= CHECK_WITHIN_MS) stream.finish(new GatewayError('CONTROL_UNAVAILABLE'))
    }
  }

  async #read({ tail, recent }: Reading): Promise<void> {
    recent.add(await tail.read(this.#database, this.#clock.now()))
  }

  #rest(): void {
    this.#started = null
    this.#forgetting = setTimeout(() => (this.#kept = null), KEPT_MS).unref()
  }
}
