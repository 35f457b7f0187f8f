import { randomBytes } from 'node:crypto'
import type { EventStore, JSONRPCMessage } from '@modelcontextprotocol/server'

/** Events of one session that can be sent again. */
const MAX_EVENTS = 256
const MAX_BYTES = 1024 * 1024
/** A client that comes back later than this begins a new session. */
const KEPT_MS = 300_000

interface Kept {
  readonly id: string
  readonly streamId: string
  /** Null: an event without a message, which only opens its stream. */
  readonly message: JSONRPCMessage | null
  readonly bytes: number
  readonly atMs: number
}

/** Counts the events of all sessions. */
export class EventBytes {
  readonly max: number
  used = 0

  constructor(max: number) {
    this.max = max
  }
}

/** The last events of one session, for clients that lost their connection. The oldest go first. */
export class EventLog implements EventStore {
  readonly #all: EventBytes
  #kept: Kept[] = []
  #bytes = 0
  #lastId = 0
  /** Another machine may have events of the same session: their ids differ. */
  readonly #prefix = randomBytes(6).toString('base64url')

  constructor(all: EventBytes) {
    this.#all = all
  }

  storeEvent(streamId: string, message: JSONRPCMessage): Promise<string> {
    this.#lastId += 1
    const id = `${this.#prefix}.${this.#lastId}`
    const isOpening = Object.keys(message).length === 0
    const bytes = isOpening ? 0 : JSON.stringify(message).length
    this.#kept.push({ id, streamId, message: isOpening ? null : message, bytes, atMs: performance.now() })
    this.#bytes += bytes
    this.#all.used += bytes
    while (this.#isTooMuch()) this.#forgetOldest()
    return Promise.resolve(id)
  }

  getStreamIdForEventId(eventId: string): Promise<string | undefined> {
    return Promise.resolve(this.#kept.find(({ id }) => id === eventId)?.streamId)
  }

  async replayEventsAfter(
    lastEventId: string,
    { send }: { send: (eventId: string, message: JSONRPCMessage) => Promise<void> },
  ): Promise<string> {
    const last = this.#kept.findIndex(({ id }) => id === lastEventId)
    const streamId = this.#kept[last]?.streamId
    if (streamId === undefined) throw new Error('the event is not kept any more')
    for (const { id, message, streamId: of } of this.#kept.slice(last + 1)) {
      if (of === streamId && message !== null) await send(id, message)
    }
    return streamId
  }

  /** Forgets events that nobody comes back for. */
  sweep(nowMs: number): void {
    while ((this.#kept[0]?.atMs ?? Infinity) < nowMs - KEPT_MS) this.#forgetOldest()
  }

  clear(): void {
    while (this.#kept.length > 0) this.#forgetOldest()
  }

  #isTooMuch(): boolean {
    // The newest stays: its client may be about to ask for it.
    if (this.#kept.length <= 1) return false
    return this.#kept.length > MAX_EVENTS || this.#bytes > MAX_BYTES || this.#all.used > this.#all.max
  }

  #forgetOldest(): void {
    const oldest = this.#kept.shift()
    this.#bytes -= oldest?.bytes ?? 0
    this.#all.used -= oldest?.bytes ?? 0
  }
}
