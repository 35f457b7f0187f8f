import { accumulateResponse } from 'openai/lib/responses/ResponseAccumulator'
import { eventsOf, fieldsOf } from '../unit/wire/sse-oracle.ts'
import type { Json } from './plain-json.ts'

/** A client's view of a responses stream, read without the code under test. */
export interface ResponsesView {
  text: string
  refusal: string
  thinking: string
  calls: { id: string; name: string; input: string }[]
  status: string
  /** The response in the last event. */
  response: Json
}

const TERMINALS = new Set(['response.completed', 'response.incomplete', 'response.failed'])

/**
 * Reads a stream and throws when it breaks one of these rules. `created` is first, one end event is last, and the sequence numbers
 * have no gap. Items, parts and deltas belong to an open parent. Each `done` has the sum of its deltas, and the last event all items.
 */
export function readResponsesStream(stream: string): ResponsesView {
  const reader = new Reader()
  for (const event of eventsOf(Buffer.from(stream))) {
    const { name, data } = fieldsOf(event)
    const payload: Json = JSON.parse(data ?? '')
    if (name !== payload.type) throw new Error(`named otherwise: ${event}`)
    reader.take(payload)
  }
  return reader.finish()
}

class Reader {
  readonly #view: ResponsesView = { text: '', refusal: '', thinking: '', calls: [], status: '', response: null }
  #count = 0
  /** The response as the official client assembles it from the events. */
  #snapshot: Json = undefined
  #over = false
  readonly #done: Json[] = []
  #item: Json = null
  /** The open content or summary part. */
  #part: Json = null
  #text = ''
  #parts = 0

  take(event: Json): void {
    const fail = (reason: string): never => {
      throw new Error(`${reason}: ${JSON.stringify(event)}`)
    }
    if (event.sequence_number !== this.#count++) fail('a gap')
    if (this.#over) fail('something behind the end')
    const type: string = event.type.replace('response.', '')
    if ((type === 'created') !== (this.#count === 1)) fail('created at a wrong place')
    if ((type === 'in_progress') !== (this.#count === 2)) fail('in_progress at a wrong place')
    if (TERMINALS.has(event.type)) {
      this.#end(event, fail)
      return
    }
    this.#snapshot = accumulateResponse(event, this.#snapshot)
    if (type === 'created' || type === 'in_progress') {
      if (event.response.status !== 'in_progress' || event.response.output.length > 0) fail('begun with something')
      return
    }
    if (event.output_index !== this.#done.length) fail('another item')
    if (type === 'output_item.added') {
      if (this.#item !== null) fail('an item within an item')
      this.#item = event.item
      this.#parts = 0
      this.#text = ''
      return
    }
    if (this.#item === null) fail('no item')
    if (type === 'output_item.done') {
      if (event.item.id !== this.#item.id || this.#part !== null) fail('another item, or an open part')
      this.#done.push(event.item)
      this.#item = null
      return
    }
    if (event.item_id !== this.#item.id) fail('another id')
    this.#within(type, event, fail)
  }

  #within(type: string, event: Json, fail: (reason: string) => never): void {
    if (type.endsWith('.delta')) {
      if (event.delta === '') fail('an empty delta')
      this.#text += event.delta
      return
    }
    if (type.endsWith('part.added')) {
      if (this.#part !== null || (event.content_index ?? event.summary_index) !== this.#parts) fail('a part too many')
      this.#part = event.part
      this.#text = ''
      return
    }
    if (type.endsWith('part.done')) {
      const { text, refusal } = event.part
      if (this.#part?.type !== event.part.type || (text ?? refusal) !== this.#text) fail('another part')
      this.#part = null
      this.#parts++
      return
    }
    if (type === 'output_text.annotation.added') return
    if ((event.text ?? event.refusal ?? event.arguments ?? event.input) !== this.#text) fail('not what was said')
    const { type: item, call_id: id, name } = this.#item
    if (type === 'output_text.done') this.#view.text += this.#text
    else if (type === 'refusal.done') this.#view.refusal += this.#text
    else if (type === 'reasoning_summary_text.done') this.#view.thinking += this.#text
    else if (item === 'function_call' || item === 'custom_tool_call') {
      this.#view.calls.push({ id, name, input: this.#text })
    } else fail('unknown')
  }

  #end(event: Json, fail: (reason: string) => never): void {
    const { response, type } = event
    this.#over = true
    if (response.status !== type.replace('response.', '')) fail('another status')
    if (type !== 'response.failed') {
      if (this.#item !== null) fail('an item is open')
      if (JSON.stringify(response.output) !== JSON.stringify(this.#done)) fail('not what the items said')
      if (JSON.stringify(this.#snapshot.output) !== JSON.stringify(this.#done)) fail('not what the deltas said')
    }
    this.#view.status = response.status
    this.#view.response = response
  }

  finish(): ResponsesView {
    if (!this.#over) throw new Error('no end')
    return this.#view
  }
}
