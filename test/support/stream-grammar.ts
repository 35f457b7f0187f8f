import { eventsOf, fieldsOf } from '../unit/wire/sse-oracle.ts'
import type { Json } from './plain-json.ts'

/** A client's view of a stream, read without the code under test. The readers throw when the stream breaks the dialect's grammar. */
export interface ClientView {
  /** Pieces in the order of their start. Consecutive pieces of one kind are joined, as chat clients do. */
  text: string
  thinking: string
  signatures: string[]
  refusal: string
  calls: { id: string; name: string; input: string }[]
  order: ('thinking' | 'text' | 'call')[]
  stop: string
  usage: Json
}

function fail(reason: string, event: string): never {
  throw new Error(`${reason}: ${event}`)
}

function emptyView(): ClientView {
  return { text: '', thinking: '', signatures: [], refusal: '', calls: [], order: [], stop: '', usage: null }
}

function note(view: ClientView, kind: ClientView['order'][number]): void {
  if (view.order.at(-1) !== kind || kind === 'call') view.order.push(kind)
}

/** Reads a chat stream: one role first, one finish, one usage, `[DONE]` last; calls by ascending index. */
export function readChatStream(stream: string): ClientView {
  const view = emptyView()
  let state: 'begin' | 'body' | 'finished' | 'counted' | 'done' = 'begin'
  let frame: Json = null
  for (const event of eventsOf(Buffer.from(stream))) {
    const { data } = fieldsOf(event)
    if (data === null) fail('no data', event)
    if (state === 'done') fail('something behind the end', event)
    if (data === '[DONE]') {
      if (state !== 'counted') fail('an end without finish or usage', event)
      state = 'done'
      continue
    }
    const chunk: Json = JSON.parse(data)
    const { id, object, created, model } = chunk
    frame ??= { id, object, created, model }
    if (JSON.stringify({ id, object, created, model }) !== JSON.stringify(frame)) fail('another frame', event)
    if (chunk.usage) {
      if (state !== 'finished' || chunk.choices.length > 0) fail('usage at a wrong place', event)
      view.usage = chunk.usage
      state = 'counted'
      continue
    }
    if (chunk.usage !== null) fail('usage must be null', event)
    const [choice] = chunk.choices
    if (chunk.choices.length !== 1 || choice.index !== 0) fail('not one choice', event)
    if (state === 'begin') {
      if (choice.delta.role !== 'assistant') fail('no role', event)
      state = 'body'
    } else if (choice.delta.role !== undefined || state !== 'body') fail('a delta at a wrong place', event)
    readChatDelta(view, choice.delta, event)
    if (choice.finish_reason !== null) {
      view.stop = choice.finish_reason
      state = 'finished'
    }
  }
  if (state !== 'done') throw new Error(`The stream ends ${state}.`)
  return view
}

function readChatDelta(view: ClientView, delta: Json, event: string): void {
  if (delta.content) {
    view.text += delta.content
    note(view, 'text')
  }
  if (delta.refusal) {
    view.refusal += delta.refusal
    note(view, 'text')
  }
  if (delta.reasoning_content) {
    view.thinking += delta.reasoning_content
    note(view, 'thinking')
  }
  for (const detail of delta.reasoning_details ?? []) if (detail.signature) view.signatures.push(detail.signature)
  for (const call of delta.tool_calls ?? []) {
    const definition = call.function ?? call.custom
    if (call.id === undefined) {
      const open = view.calls.at(-1)
      if (open === undefined || call.index !== view.calls.length - 1) fail('a fragment of no open call', event)
      open.input += definition.arguments ?? definition.input
    } else {
      if (call.index !== view.calls.length) fail('indexes must rise by one', event)
      if (!call.id || !definition.name || !call.type) fail('a call without id or name', event)
      view.calls.push({ id: call.id, name: definition.name, input: definition.arguments ?? definition.input })
      note(view, 'call')
    }
  }
}

/** Reads a messages stream by the grammar of the protocol notes. */
export function readMessagesStream(stream: string): ClientView {
  const view = emptyView()
  let state: 'begin' | 'body' | 'ending' | 'done' = 'begin'
  let next = 0
  let open: Json = null
  for (const event of eventsOf(Buffer.from(stream))) {
    const { name, data } = fieldsOf(event)
    const value: Json = JSON.parse(data ?? 'null')
    if (value?.type !== name) fail('name and type differ', event)
    if (name === 'ping') continue
    switch (name) {
      case 'message_start':
        if (state !== 'begin' || value.message.content.length > 0) fail('a wrong start', event)
        if (!(value.message.usage.input_tokens + value.message.usage.cache_read_input_tokens >= 0)) fail('usage', event)
        state = 'body'
        break
      case 'content_block_start':
        if (state !== 'body' || open !== null || value.index !== next) fail('a wrong block', event)
        open = value.content_block
        next++
        startBlock(view, open, event)
        break
      case 'content_block_delta':
        if (open === null || value.index !== next - 1) fail('a delta of no open block', event)
        readMessagesDelta(view, open, value.delta, event)
        break
      case 'content_block_stop':
        if (open === null || value.index !== next - 1) fail('a stop of no open block', event)
        open = null
        break
      case 'message_delta':
        if (state !== 'body' || open !== null) fail('a wrong message_delta', event)
        view.stop = value.delta.stop_reason
        view.usage = value.usage
        state = 'ending'
        break
      case 'message_stop':
        if (state !== 'ending') fail('a wrong message_stop', event)
        state = 'done'
        break
      default:
        fail('an unknown event', event)
    }
  }
  if (state !== 'done') throw new Error(`The stream ends ${state}.`)
  return view
}

function startBlock(view: ClientView, block: Json, event: string): void {
  if (block.type === 'text') note(view, 'text')
  if (block.type === 'thinking') note(view, 'thinking')
  if (block.type !== 'tool_use') return
  if (!/^[A-Za-z0-9_-]+$/.test(block.id as string) || !block.name) fail('a call without a good id or name', event)
  view.calls.push({ id: block.id, name: block.name, input: '' })
  note(view, 'call')
}

function readMessagesDelta(view: ClientView, open: Json, delta: Json, event: string): void {
  switch (`${open.type} ${delta.type}`) {
    case 'text text_delta':
      view.text += delta.text
      return
    case 'thinking thinking_delta':
      view.thinking += delta.thinking
      return
    case 'thinking signature_delta':
      view.signatures.push(delta.signature)
      return
    case 'tool_use input_json_delta': {
      const call = view.calls.at(-1)
      if (call !== undefined) call.input += delta.partial_json
      return
    }
    case 'text citations_delta':
      return
    default:
      if (!/^(server|mcp)_tool_use input_json_delta$/.test(`${open.type} ${delta.type}`)) fail('a wrong delta', event)
  }
}
