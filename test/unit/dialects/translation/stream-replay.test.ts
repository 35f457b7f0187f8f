import { describe, expect, it } from 'vitest'
import { isFailure } from '../../../../src/shared/core/codec.ts'
import type { Block } from '../../../../src/shared/core/content.ts'
import type { DialectName } from '../../../../src/shared/core/endpoint.ts'
import type { StreamEvent } from '../../../../src/shared/core/stream-event.ts'
import { clientCodec } from '../../../../src/dialects/codecs.ts'
import { loadFixtures } from '../../../support/recorded-fixtures.ts'
import type { RecordedFixture } from '../../../support/recorded-fixtures.ts'
import { readChatStream, readMessagesStream } from '../../../support/stream-grammar.ts'
import type { ClientView } from '../../../support/stream-grammar.ts'
import { OPTIONS, answerOf, collect, decodeStream, encodeStream, readBody } from '../../../support/translation.ts'
import { byteByByte, cutAt, seededCuts } from '../../wire/sse-oracle.ts'
import { expectedView } from './upstream-oracle.ts'
import type { ExpectedView } from './upstream-oracle.ts'

const STREAMS = loadFixtures((fixture) => fixture.kind === 'stream')
const PAIRS = [
  ['openai-chat', 'anthropic-messages'],
  ['anthropic-messages', 'openai-chat'],
  ['openai-chat', 'openai-chat'],
  ['anthropic-messages', 'anthropic-messages'],
] as const satisfies readonly (readonly [DialectName, DialectName])[]

function isBroken({ features }: RecordedFixture): boolean {
  if (features.has('stream:error-chunk') || features.has('stream:error-event')) return true
  if (features.has('stream:no-message_stop') || features.has('quirk:spliced-message-start')) return true
  return features.has('stream:no-DONE') && ![...features].some((feature) => feature.startsWith('finish:'))
}

function clientView(dialect: DialectName, stream: string): ClientView {
  return dialect === 'openai-chat' ? readChatStream(stream) : readMessagesStream(stream)
}

function starts(events: readonly StreamEvent[], type: StreamEvent['type']): number {
  return events.filter((event) => event.type === type).length
}

function sameJson(one: string, other: string): void {
  if (one === other) return
  expect(parsed(one)).toEqual(parsed(other))
}

describe('recorded streams, translated', () => {
  it.each(PAIRS)('reach a %s client from a %s upstream with all they say', (client, upstream) => {
    let cases = 0
    let replays = 0
    let calls = 0
    let thoughts = 0
    const left: string[] = []
    for (const fixture of STREAMS.filter(({ protocol }) => protocol === upstream)) {
      if (isBroken(fixture)) {
        left.push(fixture.id)
        continue
      }
      const whole = decodeStream(upstream, [fixture.response])
      const splits = [byteByByte(fixture.response)]
      for (let seed = 1; seed <= 3; seed++) {
        splits.push(cutAt(fixture.response, seededCuts(fixture.response.length, seed)))
      }
      for (const chunks of splits) {
        expect(decodeStream(upstream, chunks), fixture.id).toEqual(whole)
        replays++
      }
      expect([starts(whole, 'start'), starts(whole, 'end'), starts(whole, 'error')], fixture.id).toEqual([1, 1, 0])

      const expected = expectedView(upstream, fixture.response)
      const view = clientView(client, encodeStream(client, whole))
      expect(view.text + view.refusal, fixture.id).toBe(expected.text)
      expect(view.thinking, fixture.id).toBe(expected.thinking)
      expect(
        view.calls.map(({ name }) => name),
        fixture.id,
      ).toEqual(expected.calls.map(({ name }) => name))
      view.calls.forEach((call, at) => sameJson(call.input, expected.calls[at]?.input ?? ''))
      expect(new Set(view.calls.map(({ id }) => id)).size, fixture.id).toBe(view.calls.length)
      expect(view.stop, fixture.id).toBe(expected.stop[client])
      expect(totals(client, view), fixture.id).toEqual(expected.usage ?? estimate(expected))
      if (client === 'openai-chat') expect(view.order, fixture.id).toEqual(expected.order)
      cases++
      replays++
      calls += view.calls.length
      if (view.thinking !== '') thoughts++
    }
    console.log(
      `${client} client, ${upstream} upstream: ${cases} streams, ${replays} replays, ${calls} calls, ` +
        `${thoughts} with thinking; left out as broken: ${left.length}`,
    )
    expect(cases).toBeGreaterThan(upstream === 'openai-chat' ? 125 : 58)
    expect(calls).toBeGreaterThan(15)
    expect(thoughts).toBeGreaterThan(4)
  })

  it.each(PAIRS)('are the same whole as streamed for a %s client of a %s upstream', (client, upstream) => {
    let cases = 0
    for (const fixture of STREAMS.filter(({ protocol }) => protocol === upstream)) {
      if (isBroken(fixture)) continue
      const events = decodeStream(upstream, [fixture.response])
      const answer = answerOf(collect(events))
      const { body } = clientCodec(client).buildAnswer({ ...answer, nativeUsage: null }, OPTIONS)
      const view = clientView(client, encodeStream(client, events))
      const streamed = collect(decodeStream(client, [Buffer.from(encodeStream(client, events))]))
      const whole = readBody(client, body)
      expect(gist(whole.content), fixture.id).toEqual(gist(answerOf(streamed).content))
      expect(whole.usage, fixture.id).toEqual(answerOf(streamed).usage)
      expect(client === 'openai-chat' ? codecStop(body) : body['stop_reason'], fixture.id).toBe(
        client === upstream ? answer.stop.native : view.stop,
      )
      cases++
    }
    expect(cases).toBeGreaterThan(upstream === 'openai-chat' ? 125 : 58)
  })

  it('never look whole when they are broken', () => {
    const broken = STREAMS.filter(isBroken)
    for (const fixture of broken) {
      for (const chunks of [[fixture.response], byteByByte(fixture.response)]) {
        const events = decodeStream(fixture.protocol, chunks)
        expect(events.at(-1)?.type, fixture.id).toBe('error')
        expect([starts(events, 'end'), starts(events, 'error')], fixture.id).toEqual([0, 1])
        expect(isFailure(collect(events))).toBe(true)
      }
    }
    console.log(`broken streams: ${broken.length}`)
    expect(broken.length).toBeGreaterThanOrEqual(6)
  })

  it('never look whole when they are cut ahead of the finish reason', () => {
    let cuts = 0
    for (const fixture of STREAMS) {
      if (isBroken(fixture)) continue
      const marker = fixture.protocol === 'openai-chat' ? /"finish_reason":\s*"/ : /"stop_reason":\s*"/
      const text = fixture.response.toString('latin1')
      const finishAt = marker.test(text) ? text.search(marker) : text.indexOf('[DONE]')
      for (let i = 1; i <= 6; i++) {
        const cut = fixture.response.subarray(0, Math.floor((finishAt * i) / 7))
        const events = decodeStream(fixture.protocol, [cut])
        expect(events.at(-1)?.type, `${fixture.id} at ${cut.length}`).toBe('error')
        expect(starts(events, 'end'), `${fixture.id} at ${cut.length}`).toBe(0)
        cuts++
      }
    }
    expect(cuts).toBeGreaterThan(1000)
  })
})

function codecStop(body: Readonly<Record<string, unknown>>): unknown {
  return (body['choices'] as { finish_reason: unknown }[])[0]?.finish_reason
}

/** Shown where the upstream has counted nothing. */
function estimate({ text, thinking, calls }: ExpectedView): readonly number[] {
  const length = text.length + thinking.length + calls.reduce((sum, { input }) => sum + input.length, 0)
  return [OPTIONS.estimatedPromptTokens, Math.ceil(length / 4), 0]
}

/** Prompt and completion as the client adds them up. */
function totals(client: DialectName, { usage }: ClientView): readonly number[] | null {
  if (client === 'openai-chat') {
    return [usage.prompt_tokens, usage.completion_tokens, usage.prompt_tokens_details.cached_tokens]
  }
  const { input_tokens: input, cache_read_input_tokens: read, cache_creation_input_tokens: written } = usage
  return [input + read + written, usage.output_tokens, read]
}

/** Content without what a way of transport may change: where texts are cut, ids that were not given. */
function gist(content: readonly Block[]): object {
  const text = content.map((block) => (block.type === 'text' ? block.text : '')).join('')
  const thinking = content.map((block) => (block.type === 'thinking' ? block.text : '')).join('')
  const calls = content.filter((block) => block.type === 'tool-call')
  return { text, thinking, calls: calls.map(({ name, input }) => [name, parsed(input)]) }
}

function parsed(input: unknown): unknown {
  if (typeof input !== 'string') return Object.hasOwn(input as object, '_raw_arguments') ? {} : input
  if (input === '') return {}
  try {
    return (JSON.parse(input) as unknown) ?? {}
  } catch {
    // Input that was cut off: a whole message has none, a stream what there was.
    return {}
  }
}
