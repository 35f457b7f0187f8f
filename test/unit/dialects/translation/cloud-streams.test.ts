import { describe, expect, it } from 'vitest'
import type { Answer } from '../../../../src/shared/core/answer.ts'
import { clientCodec, upstreamCodec } from '../../../../src/dialects/codecs.ts'
import { bytesOf, decodeCloudStream, isForeign } from '../../../support/cloud-streams.ts'
import { cutsOf } from '../../../support/decode-stream.ts'
import type { Json } from '../../../support/plain-json.ts'
import { loadCloudFixtures } from '../../../support/recorded-fixtures.ts'
import { readResponsesStream } from '../../../support/responses-grammar.ts'
import { SeededRandom } from '../../../support/seeded-random.ts'
import { readChatStream, readMessagesStream } from '../../../support/stream-grammar.ts'
import type { ClientView } from '../../../support/stream-grammar.ts'
import { readStream } from '../../../support/stream-reader.ts'
import { OPTIONS, answerOf, collect, encodeStream } from '../../../support/translation.ts'

const RANDOM_CUTS = 10
const CLIENTS = ['openai-chat', 'anthropic-messages', 'openai-responses'] as const
type Client = (typeof CLIENTS)[number]

/** What of an answer every client can be shown. */
function saidBy(answer: Answer): { text: string; calls: { name: string; input: unknown }[] } {
  const calls = answer.content.flatMap((block) => (block.type === 'tool-call' ? [block] : []))
  return {
    text: answer.content.map((block) => (block.type === 'text' || block.type === 'refusal' ? block.text : '')).join(''),
    calls: calls.map(({ name, input }) => ({ name, input: typeof input === 'string' ? parsed(input) : input })),
  }
}

/** What a client of either dialect makes of its stream. */
function viewOf(client: Client, stream: string): Pick<ClientView, 'text' | 'calls' | 'stop' | 'usage'> {
  if (client === 'openai-chat') return readChatStream(stream)
  if (client === 'anthropic-messages') return readMessagesStream(stream)
  const { text, refusal, calls, status, response } = readResponsesStream(stream)
  return { text: text + refusal, calls, stop: status, usage: response.usage }
}

function parsed(text: string): unknown {
  return text === '' ? {} : (JSON.parse(text) as unknown)
}

describe('recorded streams of clouds, translated', () => {
  it.each(CLIENTS)('reach a %s client with all they say, however they are cut', (client) => {
    const left: string[] = []
    let cases = 0
    let replays = 0
    let calls = 0
    for (const fixture of loadCloudFixtures().filter(({ kind }) => kind === 'stream')) {
      if (isForeign(fixture)) {
        left.push(fixture.id)
        continue
      }
      const random = new SeededRandom(fixture.id.length)
      let first: string | null = null
      for (const cut of cutsOf(bytesOf(fixture), () => random.next(), RANDOM_CUTS)) {
        const events = decodeCloudStream(fixture, cut)
        readStream(events)
        const stream = encodeStream(client, events)
        replays++
        if (first !== null) {
          expect(stream, fixture.id).toBe(first)
          continue
        }
        first = stream
        const answer = answerOf(collect(events))
        const view = viewOf(client, stream)
        const said = saidBy(answer)
        expect(view.text, fixture.id).toBe(said.text)
        expect(
          view.calls.map(({ name, input }) => ({ name, input: parsed(input) })),
          fixture.id,
        ).toEqual(said.calls)
        expect(new Set(view.calls.map(({ id }) => id)).size, fixture.id).toBe(said.calls.length)
        expect(said.text.length + said.calls.length + answer.content.length, fixture.id).toBeGreaterThan(0)
        const toldByStop = { 'openai-chat': 'tool_calls', 'anthropic-messages': 'tool_use', 'openai-responses': null }
        const stop = toldByStop[client]
        if (stop !== null) expect(view.stop === stop, fixture.id).toBe(answer.stop.reason === 'tool-calls')
        checkUsage(client, view.usage, answer)
        calls += said.calls.length
      }
      cases++
    }
    expect(cases).toBeGreaterThan(30)
    expect(calls).toBeGreaterThan(5)
    console.log(
      `clouds → ${client}: ${cases} streams, ${calls} calls, ${replays} replays; left out: ${left.join(', ')}`,
    )
  })
})

describe('recorded answers of clouds, translated', () => {
  it.each(CLIENTS)('reach a %s client with all they say', (client) => {
    const left: string[] = []
    let cases = 0
    for (const fixture of loadCloudFixtures().filter(({ kind }) => kind === 'response')) {
      const read = upstreamCodec(fixture.protocol).parseAnswer(JSON.parse(fixture.response.toString()))
      if (isForeign(fixture)) {
        expect(read, fixture.id).toMatchObject({ type: 'invalid_answer' })
        left.push(fixture.id)
        continue
      }
      const answer = answerOf(read)
      const { body } = clientCodec(client).buildAnswer(answer, OPTIONS) as { body: Json }
      const said = saidBy(answer)
      if (client === 'openai-chat') {
        const { message } = body.choices[0]
        expect(message.content ?? '', fixture.id).toBe(said.text)
        const seen = (message.tool_calls ?? []).map(({ function: call }: Json) => call)
        expect(
          seen.map((call: Json) => ({ name: call.name, input: parsed(call.arguments) })),
          fixture.id,
        ).toEqual(said.calls)
      } else if (client === 'openai-responses') {
        const texts = body.output.flatMap((item: Json) => item.content ?? [])
        expect(texts.map((part: Json) => part.text ?? part.refusal ?? '').join(''), fixture.id).toBe(said.text)
        const seen = body.output.filter((item: Json) => item.type === 'function_call')
        expect(
          seen.map((item: Json) => ({ name: item.name, input: parsed(item.arguments) })),
          fixture.id,
        ).toEqual(said.calls)
      } else {
        const texts = body.content.filter((block: Json) => block.type === 'text').map((block: Json) => block.text)
        expect(texts.join(''), fixture.id).toBe(said.text)
        const uses = body.content.filter((block: Json) => block.type === 'tool_use')
        expect(
          uses.map(({ name, input }: Json) => ({ name, input })),
          fixture.id,
        ).toEqual(said.calls)
      }
      checkUsage(client, body.usage, answer)
      cases++
    }
    expect(cases).toBeGreaterThan(50)
    console.log(`clouds → ${client}: ${cases} whole answers; left out: ${left.join(', ')}`)
  })
})

function checkUsage(client: Client, usage: Json, { usage: counted }: Answer): void {
  if (counted === null) return
  if (client === 'openai-chat') {
    expect(usage).toMatchObject({ prompt_tokens: counted.promptTokens, completion_tokens: counted.completionTokens })
    return
  }
  if (client === 'openai-responses') {
    expect(usage).toMatchObject({ input_tokens: counted.promptTokens, output_tokens: counted.completionTokens })
    return
  }
  const { input_tokens: input, cache_read_input_tokens: read, cache_creation_input_tokens: written } = usage
  expect(input + (read ?? 0) + (written ?? 0)).toBe(counted.promptTokens)
  expect(usage.output_tokens).toBe(counted.completionTokens)
}
