const MAX_EVENT_CHARACTERS = 8 * 1024 * 1024

export interface SseEvent {
  /** Empty when the event has no name. */
  readonly name: string
  readonly data: string
}

/**
 * Assembles server-sent events from text that may be cut anywhere. Handles all kinds of line ends, comments, and data on
 * several lines. Throws RangeError for an event of more than 8 Mi characters.
 */
export class SseDecoder {
  #rest = ''
  #afterCr = false
  #name = ''
  #data: string[] = []
  #size = 0

  /** Returns the events that end within `text`. */
  push(text: string): SseEvent[] {
    const events: SseEvent[] = []
    // This LF belongs to the CR that ended the piece before.
    let at = this.#afterCr && text.startsWith('\n') ? 1 : 0
    if (text !== '') this.#afterCr = text.endsWith('\r')
    const lineEnd = /\r\n|\n|\r/g
    lineEnd.lastIndex = at
    for (let found = lineEnd.exec(text); found !== null; found = lineEnd.exec(text)) {
      this.#line(this.#rest + text.slice(at, found.index), events)
      this.#rest = ''
      at = lineEnd.lastIndex
    }
    this.#rest += text.slice(at)
    this.#bound(this.#rest.length)
    return events
  }

  #line(line: string, events: SseEvent[]): void {
    if (line === '') {
      if (this.#data.length > 0) events.push({ name: this.#name, data: this.#data.join('\n') })
      this.#name = ''
      this.#data = []
      this.#size = 0
      return
    }
    const colon = line.indexOf(':')
    if (colon === 0) return
    const field = colon === -1 ? line : line.slice(0, colon)
    const value = colon === -1 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)
    if (field === 'event') this.#name = value
    if (field !== 'data') return
    this.#data.push(value)
    this.#size += value.length + 1
    this.#bound(0)
  }

  #bound(more: number): void {
    if (this.#size + more > MAX_EVENT_CHARACTERS) {
      throw new RangeError(`an event is longer than ${MAX_EVENT_CHARACTERS} characters`)
    }
  }
}
