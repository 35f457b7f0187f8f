import type { CommonDialectName } from '../../../../src/shared/core/endpoint.ts'
import type { Json } from '../../../support/plain-json.ts'
import { eventsOf, fieldsOf } from '../../wire/sse-oracle.ts'
import { expectedOutcome } from '../stream-oracle.ts'

/** What an upstream's stream says, read slowly and with none of the code under test. */
export interface ExpectedView {
  text: string
  thinking: string
  calls: { name: string; input: string }[]
  order: ('thinking' | 'text' | 'call')[]
  /** The word for it in each client's dialect. */
  stop: Record<CommonDialectName, string>
  /** Prompt, completion, read from the cache. */
  usage: readonly number[] | null
}

const CHAT_STOPS: Record<string, string> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  pause_turn: 'stop',
  tool_use: 'tool_calls',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  refusal: 'content_filter',
}
const MESSAGES_STOPS: Record<string, string> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  function_call: 'tool_use',
  content_filter: 'refusal',
}

export function expectedView(dialect: CommonDialectName, stream: Buffer): ExpectedView {
  const payloads: Json[] = []
  for (const event of eventsOf(stream)) {
    const { data } = fieldsOf(event)
    if (data === '[DONE]') break
    if (data !== null) payloads.push(JSON.parse(data))
    // Nothing belongs behind the last event; one recording holds two answers.
    if (payloads.at(-1)?.type === 'message_stop') break
  }
  const view: ExpectedView = {
    text: '',
    thinking: '',
    calls: [],
    order: [],
    stop: { 'openai-chat': '', 'anthropic-messages': '' },
    usage: null,
  }
  if (dialect === 'openai-chat') readChat(view, payloads)
  else readMessages(view, payloads)
  const { usage } = expectedOutcome(dialect, stream, true)
  if (usage !== null) view.usage = [usage.promptTokens, usage.completionTokens, usage.cachedTokens]
  return view
}

function note(view: ExpectedView, kind: ExpectedView['order'][number]): void {
  if (view.order.at(-1) !== kind || kind === 'call') view.order.push(kind)
}

function readChat(view: ExpectedView, payloads: readonly Json[]): void {
  const byKey = new Map<string, { name: string; input: string }>()
  let finish: string | null = null
  let refuses = false
  let namesReasoning = false
  for (const payload of payloads) {
    for (const choice of payload.choices ?? []) {
      if (choice.index > 0) continue
      finish ??= choice.finish_reason || null
      const delta: Json = choice.delta ?? {}
      const named = delta.reasoning_content ?? delta.reasoning
      if (named) namesReasoning = true
      const details: Json[] = namesReasoning ? [] : (delta.reasoning_details ?? [])
      const thinking = named ?? details.map((detail) => detail.text ?? detail.summary ?? '').join('')
      if (thinking) say(view, 'thinking', thinking)
      if (typeof delta.content === 'string') say(view, 'text', delta.content)
      else {
        for (const part of delta.content ?? []) {
          if (part.type === 'thinking') for (const inner of part.thinking) say(view, 'thinking', inner.text)
          else say(view, 'text', part.text)
        }
      }
      if (delta.refusal) {
        refuses = true
        say(view, 'text', delta.refusal)
      }
      for (const call of [...(delta.tool_calls ?? [])]) {
        const key = call.index === undefined ? `id ${call.id}` : `index ${call.index}`
        if (!byKey.has(key)) {
          const begun = { name: call.function.name, input: '' }
          byKey.set(key, begun)
          view.calls.push(begun)
          note(view, 'call')
        }
        const open = byKey.get(key)
        if (open !== undefined) open.input += call.function?.arguments ?? ''
      }
    }
  }
  const hasCalls = view.calls.length > 0
  let stop = hasCalls && finish === 'stop' ? 'tool_calls' : (finish ?? '')
  if (!hasCalls && stop === 'tool_calls') stop = 'stop'
  const refused = refuses && stop === 'stop'
  view.stop = {
    'openai-chat': refused ? 'content_filter' : CHAT_STOPS[stop] === undefined && !MESSAGES_STOPS[stop] ? 'stop' : stop,
    'anthropic-messages': refused ? 'refusal' : (MESSAGES_STOPS[stop] ?? 'end_turn'),
  }
}

function say(view: ExpectedView, kind: 'text' | 'thinking', text: string): void {
  if (text === '') return
  view[kind] += text
  note(view, kind)
}

function readMessages(view: ExpectedView, payloads: readonly Json[]): void {
  const open = new Map<number, { name: string; input: string }>()
  let stop = ''
  for (const event of payloads) {
    if (event.type === 'message_delta') stop = event.delta.stop_reason ?? stop
    if (event.type === 'content_block_start') {
      open.delete(event.index)
      const block = event.content_block
      if (block.type === 'text') say(view, 'text', block.text)
      if (block.type === 'thinking') say(view, 'thinking', block.thinking)
      if (block.type !== 'tool_use') continue
      const call = { name: block.name, input: '' }
      open.set(event.index, call)
      view.calls.push(call)
      note(view, 'call')
    }
    if (event.type !== 'content_block_delta') continue
    const { delta } = event
    if (delta.type === 'text_delta') say(view, 'text', delta.text)
    if (delta.type === 'thinking_delta') say(view, 'thinking', delta.thinking)
    const call = open.get(event.index)
    if (delta.type === 'input_json_delta' && call !== undefined) call.input += delta.partial_json
  }
  const reason =
    view.calls.length > 0 ? (stop === 'end_turn' ? 'tool_use' : stop) : stop === 'tool_use' ? 'end_turn' : stop
  view.stop = { 'openai-chat': CHAT_STOPS[reason] ?? 'stop', 'anthropic-messages': stop }
}
