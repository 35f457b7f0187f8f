import { anthropicErrorBody, anthropicErrorHeaders, anthropicRateLimits } from './anthropic-errors.ts'
import type { PlannedCall } from './answer.ts'
import { EventList, type StreamEvent } from './events.ts'
import { escapeJson } from './json.ts'
import { figure, type UsageFigures } from './usage-text.ts'
import { SERVER_SENT_EVENTS } from './wire.ts'
import type { ErrorContext, Wire, WireAnswer } from './wire.ts'

const TERMINAL = 'event: message_stop\ndata: {"type":"message_stop"}\n\n'
const PING = 'event: ping\ndata: {"type": "ping"}\n\n'
const TEXT_START =
  'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n'
const TEXT_DELTA =
  'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"'

export const anthropicMessages: Wire = {
  ...SERVER_SENT_EVENTS,

  headers(requestId) {
    return `${anthropicRateLimits()}request-id: ${requestId}\r\nanthropic-organization-id: 00000000-0000-4000-8000-000000000000\r\n`
  },

  body(answer) {
    const { text, calls } = answer.answer
    const blocks: string[] = []
    if (text.length > 0) blocks.push(`{"type":"text","text":"${text.escaped()}"}`)
    calls.forEach((call, position) => {
      const id = callId(answer, position)
      blocks.push(`{"type":"tool_use","id":"${id}","name":"${escapeJson(call.name)}","input":${inputOf(call)}}`)
    })
    const usage =
      answer.usage.mode === 'absent' ? '' : `,"usage":${usageText(answer.usage, answer.usage.completionTokens)}`
    return `{"model":"${escapeJson(answer.model)}","id":"msg_${answer.id}","type":"message","role":"assistant","content":[${blocks.join(',')}],"stop_reason":"${stopReason(answer)}","stop_sequence":null${usage}}`
  },

  events(answer) {
    const { text, calls } = answer.answer
    const { usage } = answer
    const hasText = text.length > 0
    const head = [event(messageStart(answer))]
    if (hasText) head.push(event(TEXT_START), event(PING))
    else if (calls.length === 0) head.push(event(PING))

    const tail: StreamEvent[] = []
    if (hasText) tail.push(event(blockStop(0)))
    calls.forEach((call, position) => {
      const index = position + (hasText ? 1 : 0)
      addCall(answer, call, position, index, tail)
      if (!hasText && position === 0) tail.splice(1, 0, event(PING))
    })
    const figures =
      usage.mode === 'absent' ? '' : `,"usage":${deltaUsage(usage, figure(usage.mode, usage.completionTokens))}`
    const messageDelta = event(
      `event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"${stopReason(answer)}","stop_sequence":null}${figures}}\n\n`,
    )
    const late = usage.mode === 'after-terminal'
    if (late) tail.push(event(TERMINAL), messageDelta)
    else tail.push(messageDelta, event(TERMINAL))
    return new EventList({
      head,
      pieces: text,
      prefixes: [TEXT_DELTA],
      suffix: '"}}\n\n',
      tail,
      usageAt: tail.indexOf(messageDelta),
      terminals: late ? 2 : 1,
    })
  },

  longEvent: (_answer, text) => `${TEXT_DELTA}${text}"}}\n\n`,
  terminal: () => TERMINAL,
  errorBody: anthropicErrorBody,
  errorHeaders: anthropicErrorHeaders,
  errorEvent: (context: ErrorContext) => `event: error\ndata: ${anthropicErrorBody(529, context)}\n\n`,
}

function messageStart(answer: WireAnswer): string {
  const { usage } = answer
  const unknown: UsageFigures = { ...usage, promptTokens: 0, cachedTokens: 0 }
  const shown = usage.mode === 'late' || usage.mode === 'after-terminal' ? unknown : usage
  const figures = usage.mode === 'absent' ? '' : `,"usage":${usageText(shown, 1)}`
  return `event: message_start\ndata: {"type":"message_start","message":{"model":"${escapeJson(answer.model)}","id":"msg_${answer.id}","type":"message","role":"assistant","content":[],"stop_reason":null,"stop_sequence":null${figures}}}\n\n`
}

function addCall(answer: WireAnswer, call: PlannedCall, position: number, index: number, tail: StreamEvent[]): void {
  const block = `{"type":"tool_use","id":"${callId(answer, position)}","name":"${escapeJson(call.name)}","input":{}}`
  tail.push({
    text: `event: content_block_start\ndata: {"type":"content_block_start","index":${index},"content_block":${block}}\n\n`,
    tokens: call.nameTokens,
  })
  tail.push(event(inputDelta(index, '')))
  if (call.argumentPieces.join('') === '{}') {
    // A tool without arguments streams only the empty fragment. The event that ends the block counts its two tokens.
    tail.push({ text: blockStop(index), tokens: call.argumentPieces.length })
    return
  }
  for (const piece of call.argumentPieces) tail.push({ text: inputDelta(index, piece), tokens: 1 })
  tail.push(event(blockStop(index)))
}

function inputDelta(index: number, piece: string): string {
  return `event: content_block_delta\ndata: {"type":"content_block_delta","index":${index},"delta":{"type":"input_json_delta","partial_json":"${escapeJson(piece)}"}}\n\n`
}

function blockStop(index: number): string {
  return `event: content_block_stop\ndata: {"type":"content_block_stop","index":${index}}\n\n`
}

function callId(answer: WireAnswer, position: number): string {
  return `toolu_${answer.id}${position}`
}

/** The input of a buffered answer is an object, even when `max_tokens` cut its text. */
function inputOf(call: PlannedCall): string {
  const text = call.argumentPieces.join('')
  try {
    JSON.parse(text)
    return text
  } catch {
    return '{}'
  }
}

function stopReason(answer: WireAnswer): string {
  const { finish } = answer.answer
  if (finish === 'call') return 'tool_use'
  return finish === 'length' ? 'max_tokens' : 'end_turn'
}

/** `input_tokens` does not include the cached tokens. */
function usageText(usage: UsageFigures, outputTokens: number): string {
  const { mode, promptTokens, cachedTokens } = usage
  return `{"input_tokens":${figure(mode, promptTokens - cachedTokens)},"cache_creation_input_tokens":0,"cache_read_input_tokens":${figure(mode, cachedTokens)},"cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":0},"output_tokens":${figure(mode, outputTokens)},"service_tier":"standard"}`
}

function deltaUsage(usage: UsageFigures, outputTokens: string): string {
  const { mode, promptTokens, cachedTokens } = usage
  return `{"input_tokens":${figure(mode, promptTokens - cachedTokens)},"cache_creation_input_tokens":0,"cache_read_input_tokens":${figure(mode, cachedTokens)},"output_tokens":${outputTokens}}`
}

function event(text: string): StreamEvent {
  return { text, tokens: 0 }
}
