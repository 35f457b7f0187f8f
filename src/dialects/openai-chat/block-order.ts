import type { Citation } from '../../shared/core/content.ts'
import type { StreamEvent } from '../../shared/core/stream-event.ts'
import { SIGNED_FORMAT } from '../common/signed-thinking.ts'
import { JsonDepth } from '../common/json-depth.ts'

/** A call whose fragments are arriving. */
export interface PendingCall {
  /** `index` on the wire; null when the service sends none. */
  key: number | null
  id: string
  name: string
  kind: 'function' | 'custom' | 'legacy'
  signature: string | null
  /** Input that arrived before the call was started. */
  waiting: string
  readonly depth: JsonDepth
  started: boolean
}

interface Waiting {
  readonly kind: 'thinking' | 'text' | 'refusal'
  readonly text: string
  readonly format: string
}

type Open = 'none' | 'thinking' | 'text' | 'refusal' | 'call'

/**
 * Turns the interleaved parts of a chat stream into consecutive blocks. One call is live. The fragments of other calls wait
 * until its input is complete JSON, or until the stream ends; so does text that follows a call.
 */
export class BlockOrder {
  readonly calls: PendingCall[] = []
  #open: Open = 'none'
  #live: PendingCall | null = null
  /** Index of the first call that has not started. */
  #next = 0
  /** Text that arrived while a call was live, in its order. */
  readonly #waiting: Waiting[] = []

  /** A text is open: the next one needs nothing before it. */
  get isInText(): boolean {
    return this.#open === 'text'
  }

  /** Whether a call has started. A call that never got a name has not. */
  get hasCalls(): boolean {
    return this.calls.some((call) => call.started)
  }

  thinking(text: string, format: string, out: StreamEvent[]): void {
    this.#write('thinking', text, format, out)
  }

  text(text: string, refusal: boolean, out: StreamEvent[]): void {
    this.#write(refusal ? 'refusal' : 'text', text, '', out)
  }

  /** Signs the open thinking. Without open thinking, signs an empty block. */
  signature(text: string, out: StreamEvent[]): void {
    if (this.#open !== 'thinking') {
      if (!this.#leaveCall(out)) return
      this.#close(out)
      out.push({ type: 'thinking-start', format: SIGNED_FORMAT })
      this.#open = 'thinking'
    }
    out.push({ type: 'thinking-signature', text })
  }

  redacted(data: string, format: string, out: StreamEvent[]): void {
    if (!this.#leaveCall(out)) return
    this.#close(out)
    out.push({ type: 'redacted-thinking', data, format })
  }

  /** Adds the citation to the open text. Without open text it is lost. */
  cite(citation: Citation, out: StreamEvent[]): void {
    if (this.#open === 'text') out.push({ type: 'citation', citation })
  }

  register(key: number | null): PendingCall {
    const call: PendingCall = {
      key,
      id: '',
      name: '',
      kind: 'function',
      signature: null,
      waiting: '',
      depth: new JsonDepth(),
      started: false,
    }
    this.calls.push(call)
    return call
  }

  input(call: PendingCall, text: string, out: StreamEvent[]): void {
    if (text !== '') {
      // Only white space follows complete input.
      if (call.started && call !== this.#live) return
      if (call.kind !== 'custom') call.depth.push(text)
      if (call === this.#live) out.push({ type: 'tool-delta', text })
      else call.waiting += text
    }
    this.#advance(false, out)
  }

  /** Closes the open block and writes what waited. */
  end(out: StreamEvent[]): void {
    this.#advance(true, out)
    if (this.#waiting.length > 0) {
      this.#close(out)
      this.#flushWaiting(out)
    }
    this.#close(out)
  }

  #write(kind: Waiting['kind'], text: string, format: string, out: StreamEvent[]): void {
    if (this.#open !== kind) {
      if (!this.#leaveCall(out)) {
        this.#waiting.push({ kind, text, format })
        return
      }
      if (this.#waiting.length > 0) this.#flushWaiting(out)
    }
    this.#put(kind, text, format, out)
  }

  #flushWaiting(out: StreamEvent[]): void {
    for (const { kind, text, format } of this.#waiting) this.#put(kind, text, format, out)
    this.#waiting.length = 0
  }

  #put(kind: Waiting['kind'], text: string, format: string, out: StreamEvent[]): void {
    if (this.#open !== kind) {
      this.#close(out)
      out.push(
        kind === 'thinking' ? { type: 'thinking-start', format } : { type: 'text-start', refusal: kind === 'refusal' },
      )
      this.#open = kind
    }
    out.push({ type: kind === 'thinking' ? 'thinking-delta' : 'text-delta', text })
  }

  /** Starts the next call unless the live one may get more input. */
  #advance(atEnd: boolean, out: StreamEvent[]): void {
    for (let next = this.calls[this.#next]; next !== undefined; next = this.calls[this.#next]) {
      if (next.name === '' && !atEnd) return
      if (this.#live !== null && !this.#live.depth.complete && !atEnd) return
      this.#next++
      // A call without a name cannot be made.
      if (next.name === '') continue
      this.#close(out)
      const { kind, id, name, signature } = next
      out.push({ type: 'tool-start', kind, id, name, signature, extra: null })
      if (next.waiting !== '') out.push({ type: 'tool-delta', text: next.waiting })
      next.waiting = ''
      next.started = true
      this.#live = next
      this.#open = 'call'
    }
  }

  /** Returns false while the live call may get more input, or other calls wait for their turn. */
  #leaveCall(out: StreamEvent[]): boolean {
    if (this.#live === null) return true
    if (!this.#live.depth.complete || this.#next < this.calls.length) return false
    this.#close(out)
    return true
  }

  #close(out: StreamEvent[]): void {
    switch (this.#open) {
      case 'thinking':
        out.push({ type: 'thinking-end' })
        break
      case 'text':
      case 'refusal':
        out.push({ type: 'text-end' })
        break
      case 'call':
        out.push({ type: 'tool-end' })
        this.#live = null
        break
      case 'none':
    }
    this.#open = 'none'
  }
}
