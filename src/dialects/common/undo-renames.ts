import type { Answer, Stop } from '../../shared/core/answer.ts'
import type { Restoration, ToolAlias } from '../../shared/core/codec.ts'
import { textBlock } from '../../shared/core/content.ts'
import type { Block, ToolCallBlock } from '../../shared/core/content.ts'
import type { StreamEvent, ToolStartEvent } from '../../shared/core/stream-event.ts'
import { inputObject, inputText } from './tool-input.ts'

// Undoes in the answer what was changed in the request for the upstream: names of tools, free text as input, the tool whose
// input is the answer.

/** Undoes the renames in a whole answer. */
export function undoRenames(answer: Answer, restoration: Restoration): Answer {
  const content = answer.content.map((block) => (block.type === 'tool-call' ? restoreCall(block, restoration) : block))
  const answered = answer.content.some((block) => block.type === 'tool-call' && block.name === restoration.answerTool)
  return { ...answer, content, stop: answered ? withoutCalls(answer.stop) : answer.stop }
}

function restoreCall(call: ToolCallBlock, { tools, answerTool }: Restoration): Block {
  if (call.name === answerTool) return textBlock(inputText(call.input))
  const alias = aliasOf(tools, call.name)
  if (alias === null) return call
  const input = alias.kind === 'custom' ? freeText(call.input) : call.input
  return { ...call, kind: alias.kind, name: alias.name, input }
}

function aliasOf(tools: Restoration['tools'], name: string): ToolAlias | null {
  return Object.hasOwn(tools, name) ? (tools[name] ?? null) : null
}

function freeText(input: unknown): string {
  const text = inputObject(input)['input']
  return typeof text === 'string' ? text : inputText(input)
}

function withoutCalls(stop: Stop): Stop {
  return stop.reason === 'tool-calls' ? { ...stop, reason: 'end' } : stop
}

/** Undoes the renames in one stream. */
export class StreamRenameUndoer {
  readonly #restoration: Restoration
  /** The open call is one of the answer tool: its input becomes text. */
  #answering = false
  #answered = false
  /** Input of the open free-text call, which is known only when whole; null without such a call. */
  #custom: string | null = null

  constructor(restoration: Restoration) {
    this.#restoration = restoration
  }

  /** Pushes the event as the client expects it. */
  restore(event: StreamEvent, out: StreamEvent[]): void {
    switch (event.type) {
      case 'tool-start':
        out.push(this.#start(event))
        break
      case 'tool-delta':
        if (this.#answering) out.push({ type: 'text-delta', text: event.text })
        else if (this.#custom === null) out.push(event)
        else this.#custom += event.text
        break
      case 'tool-end':
        this.#end(event, out)
        break
      case 'end':
        out.push(this.#answered ? { ...event, stop: withoutCalls(event.stop) } : event)
        break
      default:
        out.push(event)
    }
  }

  #start(event: ToolStartEvent): StreamEvent {
    const { tools, answerTool } = this.#restoration
    if (event.name === answerTool) {
      this.#answering = true
      this.#answered = true
      return { type: 'text-start', refusal: false }
    }
    const alias = aliasOf(tools, event.name)
    if (alias === null) return event
    if (alias.kind === 'custom') this.#custom = ''
    return { ...event, kind: alias.kind, name: alias.name }
  }

  #end(event: StreamEvent, out: StreamEvent[]): void {
    if (this.#custom !== null) {
      const text = freeText(this.#custom)
      if (text !== '') out.push({ type: 'tool-delta', text })
      this.#custom = null
    }
    out.push(this.#answering ? { type: 'text-end' } : event)
    this.#answering = false
  }
}
