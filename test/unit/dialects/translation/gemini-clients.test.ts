import { describe, expect, it } from 'vitest'
import { isFailure } from '../../../../src/shared/core/codec.ts'
import { clientCodec } from '../../../../src/dialects/codecs.ts'
import { geminiCodec } from '../../../../src/dialects/gemini/codec.ts'
import { loadUpstreamFixtures } from '../../../support/recorded-fixtures.ts'
import { readChatStream, readMessagesStream } from '../../../support/stream-grammar.ts'
import { OPTIONS, collect, decodeStream, encodeStream } from '../../../support/translation.ts'
import { byteByByte, cutAt, seededCuts } from '../../wire/sse-oracle.ts'
import { toldByBody, toldByStream } from './gemini-oracle.ts'
import type { Told } from './gemini-oracle.ts'

// What clients are sent, read freely.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Json = any

const MAIN = loadUpstreamFixtures('gemini').filter(
  ({ id, operation }) => id.startsWith('gemini/') && operation === null,
)
const CLIENTS = ['openai-chat', 'anthropic-messages'] as const
type Client = (typeof CLIENTS)[number]

/** `stop` of the client's dialect for what the answer tells. */
function stopOf(told: Told, client: Client): string {
  const isChat = client === 'openai-chat'
  const filtered = /SAFETY|RECITATION|ARMOR/.test(String(told.blockReason ?? told.finish)) || told.blockReason !== null
  if (filtered) return isChat ? 'content_filter' : 'refusal'
  if (told.finish === 'MAX_TOKENS') return isChat ? 'length' : 'max_tokens'
  if (told.calls.length > 0) return isChat ? 'tool_calls' : 'tool_use'
  return isChat ? 'stop' : 'end_turn'
}

function expectUsage(usage: Json, told: Told, client: Client, id: string): void {
  if (told.usage === null) return
  const { prompt, completion, cached, reasoning } = told.usage
  if (client === 'openai-chat') {
    expect(usage, id).toMatchObject({
      prompt_tokens: prompt,
      completion_tokens: completion,
      total_tokens: prompt + completion,
      prompt_tokens_details: { cached_tokens: cached },
      completion_tokens_details: { reasoning_tokens: reasoning },
    })
  } else {
    expect(usage, id).toMatchObject({
      input_tokens: prompt - cached,
      cache_read_input_tokens: cached,
      output_tokens: completion,
    })
  }
}

describe.each(CLIENTS)('recorded answers of the gemini dialect, for a %s client', (client) => {
  const read = client === 'openai-chat' ? readChatStream : readMessagesStream

  it('are streams of its own grammar that say all the upstream said, however the bytes were cut', () => {
    let cases = 0
    let replays = 0
    const left: string[] = []
    for (const { id, kind, response } of MAIN) {
      if (kind !== 'stream') continue
      const whole = decodeStream('gemini', [response])
      if (whole.at(-1)?.type !== 'end') {
        left.push(id)
        continue
      }
      const sent = encodeStream(client, whole)
      const cuts = [1, 2, 3].map((seed) => cutAt(response, seededCuts(response.length, seed)))
      for (const chunks of [byteByByte(response), ...cuts]) {
        expect(encodeStream(client, decodeStream('gemini', chunks)), id).toBe(sent)
        replays++
      }
      const told = toldByStream(response)
      const view = read(sent)
      expect(view.text, id).toBe(told.text)
      expect(view.thinking, id).toBe(told.thinking)
      expect(
        view.calls.map(({ name, input }) => ({ name, input: JSON.parse(input) as unknown })),
        id,
      ).toEqual(told.calls.map(({ name, input }) => ({ name, input })))
      expect(new Set(view.calls.map((call) => call.id)).size, id).toBe(told.calls.length)
      expect(view.stop, id).toBe(stopOf(told, client))
      expectUsage(view.usage, told, client, id)
      cases++
    }
    console.log(`gemini -> ${client}: ${cases} streams, ${replays} replays; left out as failures: ${left.join(', ')}`)
    expect(cases).toBeGreaterThanOrEqual(59)
  })

  it('are whole answers that say the same as the stream of it would', () => {
    let cases = 0
    const left: string[] = []
    for (const { id, kind, response } of MAIN) {
      if (kind === 'error') continue
      const answer =
        kind === 'stream'
          ? collect(decodeStream('gemini', [response]))
          : geminiCodec.parseAnswer(JSON.parse(response.toString()))
      if (isFailure(answer)) {
        left.push(id)
        continue
      }
      const told = kind === 'stream' ? toldByStream(response) : toldByBody(response)
      const body: Json = clientCodec(client).buildAnswer(answer, OPTIONS).body
      const view = client === 'openai-chat' ? viewOfCompletion(body) : viewOfMessage(body)
      expect(view, id).toEqual({
        text: told.text,
        thinking: told.thinking,
        calls: told.calls.map(({ name, input }) => ({ name, input })),
        stop: stopOf(told, client),
      })
      expectUsage(body.usage, told, client, id)
      cases++
    }
    console.log(`gemini -> ${client}: ${cases} whole answers; left out as failures: ${left.join(', ')}`)
    expect(cases).toBeGreaterThanOrEqual(135)
  })
})

function viewOfCompletion(body: Json): object {
  const { message, finish_reason: stop } = body.choices[0]
  return {
    text: message.content ?? '',
    thinking: message.reasoning_content ?? '',
    calls: (message.tool_calls ?? []).map((call: Json) => ({
      name: call.function.name,
      input: JSON.parse(call.function.arguments),
    })),
    stop,
  }
}

function viewOfMessage(body: Json): object {
  const joined = (type: string): string =>
    body.content.map((block: Json) => (block.type === type ? block[type] : '')).join('')
  return {
    text: joined('text'),
    thinking: joined('thinking'),
    calls: body.content.flatMap((block: Json) =>
      block.type === 'tool_use' ? { name: block.name, input: block.input } : [],
    ),
    stop: body.stop_reason,
  }
}
