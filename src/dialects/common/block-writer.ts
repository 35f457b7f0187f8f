import type { Citation } from '../../shared/core/content.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import type { StreamEvent } from '../../shared/core/stream-event.ts'

type Open = 'none' | 'text' | 'thinking' | 'tool' | 'native'

const ENDS = {
  text: { type: 'text-end' },
  thinking: { type: 'thinking-end' },
  tool: { type: 'tool-end' },
  native: { type: 'native-end' },
} as const satisfies Record<Exclude<Open, 'none'>, StreamEvent>

/** Writes the blocks of one stream without overlap: a part of another block ends the open block. */
export class BlockWriter {
  open: Open = 'none'
  /** A call of a client's tool has begun. */
  hasCalls = false
  /** A block other than thinking has begun. */
  hasContent = false
  /** The open thinking block has its signature. */
  #signed = false

  text(text: string, out: StreamEvent[]): void {
    if (text === '') return
    this.#turnToText(out)
    out.push({ type: 'text-delta', text })
  }

  citation(citation: Citation, out: StreamEvent[]): void {
    this.#turnToText(out)
    out.push({ type: 'citation', citation })
  }

  thinking(text: string, format: string | null, out: StreamEvent[]): void {
    if (text === '') return
    // A signature covers all thinking before it, so more thinking begins a new block.
    if (this.#signed) this.close(out)
    this.#turnToThinking(format, out)
    out.push({ type: 'thinking-delta', text })
  }

  signature(text: string, format: string | null, out: StreamEvent[]): void {
    if (text === '') return
    this.#turnToThinking(format, out)
    this.#signed = true
    out.push({ type: 'thinking-signature', text })
  }

  redacted(data: string, format: string | null, out: StreamEvent[]): void {
    this.close(out)
    out.push({ type: 'redacted-thinking', data, format })
  }

  startTool(id: string, name: string, out: StreamEvent[], signature: string | null = null): void {
    this.close(out)
    this.open = 'tool'
    this.hasCalls = true
    this.hasContent = true
    out.push({ type: 'tool-start', kind: 'function', id, name, signature, extra: null })
  }

  /** Input of the open tool call. */
  toolInput(text: string, out: StreamEvent[]): void {
    if (text === '') return
    out.push({ type: 'tool-delta', text })
  }

  startNative(kind: string, value: JsonObject, out: StreamEvent[]): void {
    this.close(out)
    this.open = 'native'
    this.hasContent = true
    out.push({ type: 'native-start', kind, value })
  }

  /** A delta of the open native block. */
  native(value: JsonObject, out: StreamEvent[]): void {
    out.push({ type: 'native-delta', value })
  }

  close(out: StreamEvent[]): void {
    this.#signed = false
    if (this.open === 'none') return
    out.push(ENDS[this.open])
    this.open = 'none'
  }

  #turnToText(out: StreamEvent[]): void {
    if (this.open === 'text') return
    this.close(out)
    this.open = 'text'
    this.hasContent = true
    out.push({ type: 'text-start', refusal: false })
  }

  #turnToThinking(format: string | null, out: StreamEvent[]): void {
    if (this.open === 'thinking') return
    this.close(out)
    this.open = 'thinking'
    out.push({ type: 'thinking-start', format })
  }
}
