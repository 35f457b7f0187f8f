import type { PlannedCall } from './answer.ts'
import { EventList, type StreamEvent } from './events.ts'
import { escapeJson } from './json.ts'
import { openaiErrorBody, openaiErrorHeaders, openaiErrorLine } from './openai-errors.ts'
import { figure, type UsageFigures } from './usage-text.ts'
import { SERVER_SENT_EVENTS } from './wire.ts'
import type { ErrorContext, Wire, WireAnswer } from './wire.ts'

const TERMINAL = 'data: [DONE]\n\n'
const FINGERPRINT = 'fp_5f0c6c2e3a'
const RATE_LIMITS =
  'x-ratelimit-limit-requests: 10000\r\nx-ratelimit-limit-tokens: 30000000\r\nx-ratelimit-remaining-requests: 9999\r\n' +
  'x-ratelimit-remaining-tokens: 29999978\r\nx-ratelimit-reset-requests: 6ms\r\nx-ratelimit-reset-tokens: 0s\r\n'

export const openaiChat: Wire = {
  ...SERVER_SENT_EVENTS,

  headers(requestId, processingMs) {
    return `openai-processing-ms: ${processingMs}\r\nopenai-version: 2020-10-01\r\n${RATE_LIMITS}x-request-id: ${requestId}\r\n`
  },

  body(answer) {
    const { text, calls } = answer.answer
    const content = text.length === 0 && calls.length > 0 ? 'null' : `"${text.escaped()}"`
    let choices = ''
    for (let index = 0; index < answer.choices; index++) {
      const toolCalls = calls.length === 0 ? '' : `,"tool_calls":[${calls.map(wholeCall(answer, index)).join(',')}]`
      choices += `${index === 0 ? '' : ','}{"index":${index},"message":{"role":"assistant","content":${content}${toolCalls},"refusal":null,"annotations":[]},"logprobs":null,"finish_reason":"${finishReason(answer)}"}`
    }
    const usage = answer.usage.mode === 'absent' ? '' : `"usage":${usageText(answer.usage)},`
    return `{"id":"chatcmpl-${answer.id}","object":"chat.completion","created":${answer.created},"model":"${escapeJson(answer.model)}","choices":[${choices}],${usage}"service_tier":"default","system_fingerprint":"${FINGERPRINT}"}`
  },

  events(answer) {
    const opening = chunkOpening(answer)
    const reportsUsage = answer.includeUsage && answer.usage.mode !== 'absent'
    const closing = reportsUsage ? ',"usage":null}\n\n' : '}\n\n'
    const { text, calls } = answer.answer
    const content = text.length === 0 && calls.length > 0 ? 'null' : '""'

    const head: StreamEvent[] = []
    const prefixes: string[] = []
    const tail: StreamEvent[] = []
    for (let index = 0; index < answer.choices; index++) {
      const delta = `{"role":"assistant","content":${content},"refusal":null}`
      head.push(
        event(
          `${opening}"choices":[{"index":${index},"delta":${delta},"logprobs":null,"finish_reason":null}]${closing}`,
        ),
      )
      prefixes.push(`${opening}"choices":[{"index":${index},"delta":{"content":"`)
    }
    calls.forEach((call, position) => {
      addCall(answer, call, position, opening, closing, tail)
    })
    for (let index = 0; index < answer.choices; index++) {
      const choice = `{"index":${index},"delta":{},"logprobs":null,"finish_reason":"${finishReason(answer)}"}`
      tail.push(event(`${opening}"choices":[${choice}]${closing}`))
    }
    const late = answer.usage.mode === 'after-terminal'
    if (late) tail.push(event(TERMINAL))
    const usageAt = reportsUsage ? tail.length : -1
    if (reportsUsage) tail.push(event(`${opening}"choices":[],"usage":${usageText(answer.usage)}}\n\n`))
    if (!late) tail.push(event(TERMINAL))
    return new EventList({
      head,
      pieces: text,
      prefixes,
      suffix: `"},"logprobs":null,"finish_reason":null}]${closing}`,
      tail,
      usageAt,
      terminals: late && reportsUsage ? 2 : 1,
    })
  },

  longEvent(answer, text) {
    return `${chunkOpening(answer)}"choices":[{"index":0,"delta":{"content":"${text}"},"logprobs":null,"finish_reason":null}]}\n\n`
  },

  terminal: () => TERMINAL,
  errorBody: openaiErrorBody,
  errorHeaders: openaiErrorHeaders,
  errorEvent: (context: ErrorContext) => `data: ${openaiErrorLine(500, context)}\n\n`,
}

function addCall(
  answer: WireAnswer,
  call: PlannedCall,
  position: number,
  opening: string,
  closing: string,
  tail: StreamEvent[],
): void {
  const push = (index: number, fragment: string, tokens: number): void => {
    const choice = `{"index":${index},"delta":{"tool_calls":[${fragment}]},"logprobs":null,"finish_reason":null}`
    tail.push({ text: `${opening}"choices":[${choice}]${closing}`, tokens })
  }
  for (let index = 0; index < answer.choices; index++) {
    const id = callId(answer, index, position)
    const named = `"id":"${id}","type":"function","function":{"name":"${escapeJson(call.name)}","arguments":""}`
    push(index, `{"index":${position},${named}}`, call.nameTokens)
  }
  for (const piece of call.argumentPieces) {
    for (let index = 0; index < answer.choices; index++) {
      push(index, `{"index":${position},"function":{"arguments":"${escapeJson(piece)}"}}`, 1)
    }
  }
}

function wholeCall(answer: WireAnswer, index: number): (call: PlannedCall, position: number) => string {
  return (call, position) =>
    `{"id":"${callId(answer, index, position)}","type":"function","function":{"name":"${escapeJson(call.name)}","arguments":"${escapeJson(call.argumentPieces.join(''))}"}}`
}

function callId(answer: WireAnswer, index: number, position: number): string {
  return `call_${answer.id}${index}${position}`
}

function chunkOpening(answer: WireAnswer): string {
  return `data: {"id":"chatcmpl-${answer.id}","object":"chat.completion.chunk","created":${answer.created},"model":"${escapeJson(answer.model)}","service_tier":"default","system_fingerprint":"${FINGERPRINT}",`
}

/** A call that a named `tool_choice` forces has the finish reason `stop`, as in most recordings. */
function finishReason(answer: WireAnswer): string {
  if (answer.answer.finish !== 'call') return answer.answer.finish
  return answer.namedTool ? 'stop' : 'tool_calls'
}

function usageText(usage: UsageFigures): string {
  const { mode, promptTokens, completionTokens, cachedTokens } = usage
  const total = figure(mode, promptTokens + completionTokens)
  return `{"prompt_tokens":${figure(mode, promptTokens)},"completion_tokens":${figure(mode, completionTokens)},"total_tokens":${total},"prompt_tokens_details":{"cached_tokens":${figure(mode, cachedTokens)},"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}`
}

function event(text: string): StreamEvent {
  return { text, tokens: 0 }
}
