import type { PlannedCall } from './answer.ts'
import { EventList, type StreamEvent } from './events.ts'
import { geminiErrorBody, geminiErrorLine } from './gemini-errors.ts'
import { escapeJson } from './json.ts'
import { figure, type UsageFigures } from './usage-text.ts'
import { SERVER_SENT_EVENTS } from './wire.ts'
import type { ErrorContext, Wire, WireAnswer } from './wire.ts'

/** Begins each event. A stream has no separate terminal event: its last event has the finish reason. */
const PART = 'data: {"candidates":[{"content":{"parts":['

export const gemini: Wire = {
  ...SERVER_SENT_EVENTS,

  headers(_requestId, processingMs) {
    return `server-timing: gfet4t7; dur=${processingMs}\r\nvary: Origin\r\n`
  },

  body(answer) {
    const { text, calls } = answer.answer
    const parts = calls.map((call, position) => callPart(answer, call, position))
    if (text.length > 0) parts.unshift(textPart(text.escaped()))
    const content = parts.length === 0 ? '{"role":"model"}' : `{"parts":[${parts.join(',')}],"role":"model"}`
    return `{"candidates":[{"content":${content},"finishReason":"${finishReason(answer)}","index":0}]${usageMember(answer)},${identity(answer)}}`
  },

  events(answer) {
    const { text, calls } = answer.answer
    const { usage } = answer
    const early =
      usage.mode === 'absent' || usage.mode === 'late' || usage.mode === 'after-terminal' ? '' : promptUsage(usage)
    const closing = `],"role":"model"},"index":0}]${early},${identity(answer)}}\r\n\r\n`
    const tail: StreamEvent[] = calls.map((call, position) => ({
      text: `${PART}${callPart(answer, call, position)}${closing}`,
      tokens: call.nameTokens + call.argumentPieces.length,
    }))
    const late = usage.mode === 'after-terminal'
    const finish = `${PART}${textPart('')}],"role":"model"},"finishReason":"${finishReason(answer)}","index":0}]`
    tail.push(event(`${finish}${late ? '' : usageMember(answer)},${identity(answer)}}\r\n\r\n`))
    const usageAt = usage.mode === 'absent' ? -1 : late ? tail.length : tail.length - 1
    if (late) tail.push(event(`data: {"candidates":[]${usageMember(answer)},${identity(answer)}}\r\n\r\n`))
    return new EventList({
      head: [],
      pieces: text,
      prefixes: [`${PART}{"text":"`],
      suffix: `"}${closing}`,
      tail,
      usageAt,
      terminals: late ? 2 : 1,
    })
  },

  longEvent: (answer, text) => `${PART}${textPart(text)}],"role":"model"},"index":0}],${identity(answer)}}\r\n\r\n`,
  terminal: () => `data: {"candidates":[{"finishReason":"STOP","index":0}]}\r\n\r\n`,
  errorBody: geminiErrorBody,
  errorHeaders: () => '',
  errorEvent: (context: ErrorContext) => `data: ${geminiErrorLine(503, context)}\r\n\r\n`,
}

function textPart(escaped: string): string {
  return `{"text":"${escaped}"}`
}

/** The first call of an answer has a signature. Calls of this service have no ids. */
function callPart(answer: WireAnswer, call: PlannedCall, position: number): string {
  const signature = position === 0 ? `,"thoughtSignature":"${signatureOf(answer.id)}"` : ''
  return `{"functionCall":{"name":"${escapeJson(call.name)}","args":${argumentsOf(call)}}${signature}}`
}

function signatureOf(id: string): string {
  return Buffer.from(`signature of ${id}`).toString('base64')
}

/** Arguments are an object, even when `maxOutputTokens` cut their text. */
function argumentsOf(call: PlannedCall): string {
  const text = call.argumentPieces.join('')
  try {
    JSON.parse(text)
    return text
  } catch {
    return '{}'
  }
}

/** An answer with calls has the finish reason `STOP` too. */
function finishReason(answer: WireAnswer): string {
  return answer.answer.finish === 'length' ? 'MAX_TOKENS' : 'STOP'
}

function identity({ id, model, created }: WireAnswer): string {
  const time = new Date(created * 1000).toISOString()
  return `"modelVersion":"${escapeJson(model)}","createTime":"${time}","responseId":"${id}"`
}

function usageMember({ usage }: WireAnswer): string {
  if (usage.mode === 'absent') return ''
  const { mode, promptTokens, completionTokens, cachedTokens } = usage
  const cached = cachedTokens === 0 ? '' : `"cachedContentTokenCount":${figure(mode, cachedTokens)},`
  return `,"usageMetadata":{"promptTokenCount":${figure(mode, promptTokens)},"candidatesTokenCount":${figure(mode, completionTokens)},${cached}"totalTokenCount":${figure(mode, promptTokens + completionTokens)}}`
}

function promptUsage({ mode, promptTokens }: UsageFigures): string {
  const count = figure(mode, promptTokens)
  return `,"usageMetadata":{"promptTokenCount":${count},"totalTokenCount":${count}}`
}

function event(text: string): StreamEvent {
  return { text, tokens: 0 }
}
