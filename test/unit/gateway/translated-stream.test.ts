import { expect, it } from 'vitest'
import type { UpstreamDialectName } from '../../../src/shared/core/endpoint.ts'
import { GatewayError } from '../../../src/shared/core/errors.ts'
import { dialectOf } from '../../../src/dialects/codecs.ts'
import { TranslatedStream } from '../../../src/front/gateway/translated-stream.ts'
import { OPTIONS } from '../../support/translation.ts'
import { BODY, makeContext } from './context.ts'
import { RecordingControl } from './recording-control.ts'

const RESET = new GatewayError('UPSTREAM_TIMEOUT')
const GEMINI_TEXT = gemini({ content: { role: 'model', parts: [{ text: 'Hello' }] } })
const GEMINI_FINISH = gemini({ content: { role: 'model', parts: [{ text: '!' }] }, finishReason: 'STOP' })
const MESSAGES_TEXT =
  message({ type: 'message_start', message: { id: 'msg_1', model: 'm', usage: { input_tokens: 9 } } }) +
  message({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }) +
  message({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello' } })
const MESSAGES_FINISH = message({
  type: 'message_delta',
  delta: { stop_reason: 'end_turn' },
  usage: { output_tokens: 5 },
})

/** What a chat client gets of a stream whose connection breaks behind these bytes. */
function brokenBehind(upstream: UpstreamDialectName, bytes: string) {
  const { ctx, exchange } = makeContext()
  const control = new RecordingControl()
  const translation = { client: 'openai-chat', upstream, restoration: null, options: OPTIONS } as const
  const answer = {
    ctx,
    body: BODY,
    dialect: dialectOf('openai-chat'),
    translation,
    reading: null,
    status: 200,
    headers: {},
    clock: { now: () => 1_000, monotonicUs: () => 6_000 },
    redact: (text: string) => text,
  }
  const stream = new TranslatedStream(answer, translation, control)
  stream.data(Buffer.from(bytes))
  stream.lost(RESET)
  ctx.finish?.()
  return { control, tokens: ctx.tokens, sent: exchange.response.body.toString() }
}

it('is whole when its finish reason has come and the connection breaks', () => {
  const { control, tokens, sent } = brokenBehind('gemini', GEMINI_TEXT + GEMINI_FINISH + GEMINI_TEXT.slice(0, 20))
  expect(control.calls).toEqual(['served'])
  expect(sent).toMatch(/"finish_reason":"stop".*data: \[DONE\]\n\n$/s)
  expect([tokens.settlement, tokens.usage.completionTokens]).toEqual(['exact', 2])
})

it.each<[string, UpstreamDialectName, string]>([
  ['before its finish reason', 'gemini', GEMINI_TEXT],
  ['before the last event of a dialect that needs it', 'anthropic-messages', MESSAGES_TEXT + MESSAGES_FINISH],
])('is broken when the connection breaks %s', (_, upstream, bytes) => {
  const { control, sent } = brokenBehind(upstream, bytes)
  expect([control.calls, control.error]).toEqual([['broken'], RESET])
  expect(sent).toContain('Hello')
  expect(sent).toContain('"code":"UPSTREAM_TIMEOUT"')
  expect(sent).not.toContain('[DONE]')
})

function gemini(candidate: object): string {
  const usageMetadata = { promptTokenCount: 7, candidatesTokenCount: 2, totalTokenCount: 9 }
  return `data: ${JSON.stringify({ candidates: [candidate], usageMetadata, modelVersion: 'g' })}\r\n\r\n`
}

function message<Event extends { readonly type: string }>(value: Event): string {
  return `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`
}
