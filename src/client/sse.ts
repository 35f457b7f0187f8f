const MAX_EVENT_CHARACTERS = 8 * 1024 * 1024

export interface SseEvent {
  /** Empty where the stream names none. */
  readonly name: string
  readonly data: string
}

/**
 * Puts server-sent events together from text that comes in pieces, wherever they are cut: line ends of all kinds, comments,
 * data on several lines. Throws RangeError at an event of more than 8 Mi characters.
 */
export class SseDecoder {
  #rest = ''
  #afterCr = false
  #name = ''
  #data: string[] = []
  #size = 0

  /** The events that end within `text`. */
  push(text: string): SseEvent[] {
    const events: SseEvent[] = []
    // An LF behind a CR of the piece before belongs to it.
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
