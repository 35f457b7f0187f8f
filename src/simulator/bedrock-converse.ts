import { writeAwsFrame } from '../shared/wire/aws-event-stream.ts'
import type { PlannedCall } from './answer.ts'
import { bedrockErrorBody, bedrockErrorHeaders, bedrockException } from './bedrock-errors.ts'
import { EventList, type StreamEvent } from './events.ts'
import { escapeJson } from './json.ts'
import { figure, type UsageFigures } from './usage-text.ts'
import type { Wire, WireAnswer } from './wire.ts'

/** The streaming format of the AWS dialects. */
export const AWS_FRAMES = {
  streamType: 'application/vnd.amazon.eventstream',
  encoding: 'latin1',
  unauthorizedStatus: 403,
} as const satisfies Partial<Wire>

const PADDING = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'

export const bedrockConverse: Wire = {
  ...AWS_FRAMES,

  headers: (requestId) => `x-amzn-requestid: ${requestId}\r\n`,

  body(answer) {
    const { text, calls } = answer.answer
    const blocks: string[] = []
    if (text.length > 0) blocks.push(`{"text":"${text.escaped()}"}`)
    calls.forEach((call, position) => {
      const input = inputOf(call)
      blocks.push(
        `{"toolUse":{"toolUseId":"${callId(answer, position)}","name":"${escapeJson(call.name)}","input":${input}}}`,
      )
    })
    const usage = answer.usage.mode === 'absent' ? '' : `,"usage":${usageText(answer.usage)}`
    return `{"metrics":{"latencyMs":12},"output":{"message":{"content":[${blocks.join(',')}],"role":"assistant"}},"stopReason":"${stopReason(answer)}"${usage}}`
  },

  /** A text block has no start event; the usage is in the last event. */
  events(answer) {
    const { text, calls } = answer.answer
    const { mode } = answer.usage
    const hasText = text.length > 0
    const tail: StreamEvent[] = []
    if (hasText) tail.push(event('contentBlockStop', '{"contentBlockIndex":0'))
    calls.forEach((call, position) => {
      addCall(answer, call, position, position + (hasText ? 1 : 0), tail)
    })
    tail.push(event('messageStop', `{"stopReason":"${stopReason(answer)}"`))
    const usageAt = mode === 'absent' ? -1 : tail.length
    const usage = mode === 'absent' ? '' : `,"usage":${usageText(answer.usage)}`
    tail.push(event('metadata', `{"metrics":{"latencyMs":12}${usage}`))
    return new EventList(
      {
        head: [event('messageStart', '{"role":"assistant"')],
        pieces: text,
        prefixes: ['contentBlockDelta\n{"contentBlockIndex":0,"delta":{"text":"'],
        suffix: '"}',
        tail,
        usageAt,
        // `messageStop` is the terminal event; `metadata` follows it.
        terminals: 2,
      },
      frameOf,
    )
  },

  longEvent: (_answer, text) => frameOf(`contentBlockDelta\n{"contentBlockIndex":0,"delta":{"text":"${text}"}`),
  terminal: () => frameOf('messageStop\n{"stopReason":"end_turn"'),
  errorBody: bedrockErrorBody,
  errorHeaders: bedrockErrorHeaders,
  errorEvent: () => bedrockException('internalServerException', 'The system encountered an unexpected error.'),
}

/** Frames a text of name, line feed and payload without its closing brace. Adds padding of varying length to the payload. */
function frameOf(text: string): string {
  const lineFeed = text.indexOf('\n')
  const payload = text.slice(lineFeed + 1)
  const padding = PADDING.slice(0, 1 + (payload.length % PADDING.length))
  return awsEvent(text.slice(0, lineFeed), `${payload},"p":"${padding}"}`)
}

/** The frame of an event as a string with one character for each byte. */
export function awsEvent(type: string, payload: string): string {
  const headers = { ':event-type': type, ':content-type': 'application/json', ':message-type': 'event' }
  return writeAwsFrame(headers, payload).toString('latin1')
}

function addCall(answer: WireAnswer, call: PlannedCall, position: number, index: number, tail: StreamEvent[]): void {
  const place = `{"contentBlockIndex":${index}`
  const start = `{"toolUse":{"toolUseId":"${callId(answer, position)}","name":"${escapeJson(call.name)}"}}`
  tail.push(event('contentBlockStart', `${place},"start":${start}`, call.nameTokens))
  const delta = (piece: string): string => `${place},"delta":{"toolUse":{"input":"${escapeJson(piece)}"}}`
  const empty = call.argumentPieces.join('') === '{}'
  // A call without arguments has one empty delta.
  if (empty) tail.push(event('contentBlockDelta', delta(''), call.argumentPieces.length))
  else for (const piece of call.argumentPieces) tail.push(event('contentBlockDelta', delta(piece), 1))
  tail.push(event('contentBlockStop', place))
}

function event(name: string, payload: string, tokens = 0): StreamEvent {
  return { text: `${name}\n${payload}`, tokens }
}

/** A call that `maxTokens` has cut has no valid JSON: its input is an empty object. */
function inputOf(call: PlannedCall): string {
  const text = call.argumentPieces.join('')
  try {
    return JSON.stringify(JSON.parse(text))
  } catch {
    return '{}'
  }
}

function callId(answer: WireAnswer, position: number): string {
  return `tooluse_${answer.id}${position}`
}

function stopReason({ answer }: WireAnswer): string {
  if (answer.finish === 'length') return 'max_tokens'
  return answer.finish === 'call' ? 'tool_use' : 'end_turn'
}

/** `inputTokens` does not include the cached tokens; `totalTokens` does. */
function usageText({ mode, promptTokens, completionTokens, cachedTokens }: UsageFigures): string {
  const fresh = figure(mode, Math.max(0, promptTokens - cachedTokens))
  const total = figure(mode, promptTokens + completionTokens)
  return `{"cacheReadInputTokens":${figure(mode, cachedTokens)},"cacheWriteInputTokens":0,"inputTokens":${fresh},"outputTokens":${figure(mode, completionTokens)},"totalTokens":${total}}`
}
