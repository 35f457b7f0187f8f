import type { PlannedCall } from './answer.ts'
import { EventList, type StreamEvent } from './events.ts'
import { escapeJson, type JsonObject } from './json.ts'
import { readChatPrompt, type Prompt } from './prompt.ts'
import { figure, type UsageFigures } from './usage-text.ts'
import { SERVER_SENT_EVENTS } from './wire.ts'
import type { ErrorContext, Wire, WireAnswer } from './wire.ts'

const PLAN = 'I will use a tool.'

const MESSAGES: Readonly<Record<number, string>> = {
  401: 'invalid api token',
  403: 'you are not allowed to use this resource',
  429: 'Please wait and try again later',
  498: 'invalid token',
  500: 'internal server error',
  503: 'service unavailable',
}

/** Version 2 of the Cohere chat endpoint. */
export const cohereChat: Wire = {
  ...SERVER_SENT_EVENTS,

  headers: (requestId) => `x-debug-trace-id: ${requestId}\r\nx-endpoint-monthly-call-limit: 1000\r\n`,

  body(answer) {
    const { text, calls } = answer.answer
    const content = text.length === 0 ? '' : `,"content":[{"type":"text","text":"${text.escaped()}"}]`
    const called = calls.map((call, i) => callText(answer, call, i, escapeJson(call.argumentPieces.join('')))).join(',')
    const tools = calls.length === 0 ? '' : `,"tool_plan":"${PLAN}","tool_calls":[${called}]`
    return `{"id":"${answer.id}","message":{"role":"assistant"${tools}${content}},"finish_reason":"${finishReason(answer)}"${usageText(answer.usage)}}`
  },

  events(answer) {
    const { text, calls } = answer.answer
    const head = [
      event(
        'message-start',
        `"id":"${answer.id}","delta":{"message":{"role":"assistant","content":[],"tool_plan":"","tool_calls":[],"citations":[]}}`,
      ),
    ]
    const tail: StreamEvent[] = []
    if (text.length > 0) {
      head.push(event('content-start', '"index":0,"delta":{"message":{"content":{"type":"text","text":""}}}'))
      tail.push(event('content-end', '"index":0'))
    }
    if (calls.length > 0) tail.push(event('tool-plan-delta', `"delta":{"message":{"tool_plan":"${PLAN}"}}`))
    calls.forEach((call, index) => {
      addCall(answer, call, index, tail)
    })
    const end = event('message-end', `"delta":{"finish_reason":"${finishReason(answer)}"${usageText(answer.usage)}}`)
    const usageAt = answer.usage.mode === 'absent' ? -1 : tail.length
    tail.push(end)
    return new EventList({
      head,
      pieces: text,
      prefixes: [DELTA],
      suffix: DELTA_END,
      tail,
      usageAt,
      terminals: 1,
    })
  },

  longEvent: (_answer, text) => `${DELTA}${text}${DELTA_END}`,
  terminal: () => event('message-end', '"delta":{"finish_reason":"COMPLETE"}').text,
  errorBody: cohereError,
  errorHeaders: (_status, { retryAfter }) =>
    retryAfter === undefined || retryAfter === null ? '' : `retry-after: ${retryAfter}\r\n`,
  errorEvent: () => event('message-end', '"delta":{"error":"internal server error","finish_reason":"ERROR"}').text,
}

const DELTA = 'event: content-delta\ndata: {"type":"content-delta","index":0,"delta":{"message":{"content":{"text":"'
const DELTA_END = '"}}}}\n\n'

function cohereError(status: number, context: ErrorContext): string {
  const missing = `model '${context.model}' not found, make sure the correct model ID was used and that you have access to the model.`
  const message = context.message ?? (status === 404 ? missing : (MESSAGES[status] ?? 'invalid request'))
  return JSON.stringify({ id: context.requestId, message })
}

/** Reads a body of the endpoint. Throws BadRequest. */
export function readCoherePrompt(body: JsonObject): Prompt {
  const choice = typeof body['tool_choice'] === 'string' ? body['tool_choice'].toLowerCase() : undefined
  return { ...readChatPrompt({ ...body, tool_choice: choice, n: 1 }), includeUsage: true }
}

function addCall(answer: WireAnswer, call: PlannedCall, index: number, tail: StreamEvent[]): void {
  const start = `"index":${index},"delta":{"message":{"tool_calls":${callText(answer, call, index, '')}}}`
  tail.push(event('tool-call-start', start, call.nameTokens))
  for (const piece of call.argumentPieces) {
    const delta = `{"message":{"tool_calls":{"function":{"arguments":"${escapeJson(piece)}"}}}}`
    tail.push(event('tool-call-delta', `"index":${index},"delta":${delta}`, 1))
  }
  tail.push(event('tool-call-end', `"index":${index}`))
}

function callText(answer: WireAnswer, call: PlannedCall, position: number, input: string): string {
  const name = escapeJson(call.name)
  return `{"id":"${name}_${answer.id}${position}","type":"function","function":{"name":"${name}","arguments":"${input}"}}`
}

function event(type: string, members: string, tokens = 0): StreamEvent {
  return { text: `event: ${type}\ndata: {"type":"${type}",${members}}\n\n`, tokens }
}

function finishReason({ answer }: WireAnswer): string {
  if (answer.finish === 'length') return 'MAX_TOKENS'
  return answer.finish === 'call' ? 'TOOL_CALL' : 'COMPLETE'
}

/** `billed_units` is smaller than `tokens`, as at the real service. */
function usageText({ mode, promptTokens, completionTokens, cachedTokens }: UsageFigures): string {
  if (mode === 'absent') return ''
  const counts = `{"input_tokens":${figure(mode, promptTokens)},"output_tokens":${figure(mode, completionTokens)}}`
  const billed = `{"input_tokens":${figure(mode, promptTokens >> 1)},"output_tokens":${figure(mode, completionTokens)}}`
  return `,"usage":{"billed_units":${billed},"tokens":${counts},"cached_tokens":${figure(mode, cachedTokens)}}`
}
