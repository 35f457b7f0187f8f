import { describe, expect, it } from 'vitest'
import { isFailure } from '../../../../src/shared/core/codec.ts'
import { GatewayError } from '../../../../src/shared/core/errors.ts'
import type { StreamEvent } from '../../../../src/shared/core/stream-event.ts'
import { ResponsesEncoder } from '../../../../src/dialects/openai-responses/stream-encoder.ts'
import { responsesCodec } from '../../../../src/dialects/openai-responses/codec.ts'
import { bytesOf, decodeCloudStream, isForeign } from '../../../support/cloud-streams.ts'
import { loadCloudFixtures, loadFixtures, loadUpstreamFixtures } from '../../../support/recorded-fixtures.ts'
import { readResponsesStream } from '../../../support/responses-grammar.ts'
import { OPTIONS, answerOf, collect, decodeStream, encodeStream } from '../../../support/translation.ts'
import { expectedView } from '../translation/upstream-oracle.ts'
import type { ExpectedView } from '../translation/upstream-oracle.ts'

const CLIENT = 'openai-responses'
const CLOUDS = ['anthropic-vertex', 'bedrock-converse', 'bedrock-invoke', 'cohere-chat'] as const
const UPSTREAMS = ['openai-chat', 'anthropic-messages', 'gemini', ...CLOUDS] as const
type Upstream = (typeof UPSTREAMS)[number]
type Cloud = (typeof CLOUDS)[number]

/** Fewer streams, calls or thoughts than these, and the suite would prove nothing. */
const LEAST: Readonly<Record<Upstream, { streams: number; calls: number; thoughts: number }>> = {
  'openai-chat': { streams: 126, calls: 16, thoughts: 4 },
  'anthropic-messages': { streams: 59, calls: 16, thoughts: 4 },
  gemini: { streams: 21, calls: 5, thoughts: 4 },
  'anthropic-vertex': { streams: 2, calls: 0, thoughts: 0 },
  'bedrock-converse': { streams: 20, calls: 5, thoughts: 1 },
  'bedrock-invoke': { streams: 7, calls: 2, thoughts: 0 },
  'cohere-chat': { streams: 7, calls: 2, thoughts: 0 },
}

function isCloud(upstream: Upstream): upstream is Cloud {
  return (CLOUDS as readonly Upstream[]).includes(upstream)
}

interface Case {
  readonly id: string
  readonly events: readonly StreamEvent[]
  /** Null: there is no reader of this dialect beside the one under test. */
  readonly expected: ExpectedView | null
}

function casesOf(upstream: Upstream): Case[] {
  if (upstream === 'gemini') {
    const streams = loadUpstreamFixtures('gemini').filter(
      ({ id, kind, operation }) => kind === 'stream' && operation === null && id.startsWith('gemini/'),
    )
    return streams.map(({ id, response }) => ({ id, events: decodeStream(upstream, [response]), expected: null }))
  }
  if (isCloud(upstream)) {
    const streams = loadCloudFixtures(upstream).filter((fixture) => fixture.kind === 'stream' && !isForeign(fixture))
    return streams.map((fixture) => ({
      id: fixture.id,
      events: decodeCloudStream(fixture, [bytesOf(fixture)]),
      expected: null,
    }))
  }
  return loadFixtures(({ kind, protocol }) => kind === 'stream' && protocol === upstream).map(({ id, response }) => {
    const events = decodeStream(upstream, [response])
    return { id, events, expected: isWhole(events) ? expectedView(upstream, response) : null }
  })
}

function isWhole(events: readonly StreamEvent[]): boolean {
  return events.at(-1)?.type === 'end'
}

/** The first event that holds a text, a thought or a call, and what they add up to. */
function said(events: readonly StreamEvent[]): { text: string; thinking: string; inputs: string[] } {
  const told = { text: '', thinking: '', inputs: [] as string[] }
  for (const event of events) {
    if (event.type === 'text-delta') told.text += event.text
    else if (event.type === 'thinking-delta') told.thinking += event.text
    else if (event.type === 'tool-start') told.inputs.push('')
    else if (event.type === 'tool-delta') told.inputs[told.inputs.length - 1] += event.text
  }
  return told
}

describe.each(UPSTREAMS)('recorded streams of %s, for a client of responses', (upstream) => {
  const all = casesOf(upstream)
  const whole = all.filter(({ events }) => isWhole(events))

  it('say all that the upstream said, in the grammar of the protocol', () => {
    let calls = 0
    let thoughts = 0
    for (const { id, events, expected } of whole) {
      const view = readResponsesStream(encodeStream(CLIENT, events))
      const told = said(events)
      expect(view.text + view.refusal, id).toBe(expected?.text ?? told.text)
      expect(view.thinking, id).toBe(expected?.thinking ?? told.thinking)
      const inputs = (expected?.calls.map(({ input }) => input) ?? told.inputs).map((text) =>
        text === '' ? '{}' : text,
      )
      expect(
        view.calls.map(({ input }) => parsed(input)),
        id,
      ).toEqual(inputs.map(parsed))
      expect(new Set(view.calls.map(({ id: callId }) => callId)).size, id).toBe(view.calls.length)
      const end = events.at(-1)
      if (end?.type === 'end') {
        const cut = ['length', 'context-window', 'content-filter'].includes(end.stop.reason)
        const refused = end.stop.reason === 'refusal' && view.refusal === ''
        expect(view.status, id).toBe(cut || refused ? 'incomplete' : 'completed')
        if (end.usage !== null) {
          expect(view.response.usage, id).toMatchObject({
            input_tokens: end.usage.promptTokens,
            output_tokens: end.usage.completionTokens,
            input_tokens_details: { cached_tokens: end.usage.cachedTokens },
            output_tokens_details: { reasoning_tokens: end.usage.reasoningTokens },
          })
        }
      }
      calls += view.calls.length
      if (view.thinking !== '') thoughts++
    }
    console.log(`responses client, ${upstream} upstream: ${whole.length} streams, ${calls} calls, ${thoughts} thoughts`)
    const least = LEAST[upstream]
    expect(whole.length).toBeGreaterThanOrEqual(least.streams)
    expect(calls).toBeGreaterThanOrEqual(least.calls)
    expect(thoughts).toBeGreaterThanOrEqual(least.thoughts)
  })

  it('are the same whole as streamed', () => {
    for (const { id, events } of whole) {
      const view = readResponsesStream(encodeStream(CLIENT, events))
      const { body } = responsesCodec.buildAnswer(answerOf(collect(events)), OPTIONS)
      expect(gist(body), id).toEqual(gist(view.response))
    }
  })

  it('come back as the conversation that they were', () => {
    for (const { id, events } of whole) {
      const { body } = responsesCodec.buildAnswer(answerOf(collect(events)), OPTIONS)
      const { messages } = responsesCodec.parseRequest({ model: 'm', input: body['output'] })
      const content = messages.flatMap((message) => message.content)
      const original = answerOf(collect(events)).content
      expect(messages.length, id).toBeLessThan(2)
      for (const type of ['thinking', 'redacted-thinking', 'tool-call'] as const) {
        const back = content.filter((block) => block.type === type)
        const sent = original.filter((block) => block.type === type)
        expect(back.map(essence), id).toEqual(sent.map(essence))
        const ids = sent.map((block, at) => ('id' in block && block.id !== '' ? block.id : idOf(back[at])))
        expect(back.map(idOf), id).toEqual(ids)
      }
    }
  })

  it('fail when they are broken, and are never completed', () => {
    const broken = all.filter(({ events }) => !isWhole(events))
    for (const { id, events } of broken) {
      expect(isFailure(collect(events)), id).toBe(true)
      const encoder = new ResponsesEncoder(OPTIONS)
      const begun = events.map((event) => encoder.encode(event)).join('')
      expect(/response\.(completed|incomplete|failed)"/.test(begun), id).toBe(false)
      const end = encoder.encodeFailure(new GatewayError('UPSTREAM_TRUNCATED'), 'req_1')
      expect(end.split('\n\n')[1], id).toContain('event: response.failed')
    }
    if (upstream === 'openai-chat' || upstream === 'anthropic-messages') expect(broken.length).toBeGreaterThan(0)
  })
})

/** What the provider needs back. */
function essence(block: object): object {
  const { type, text, signature, data, name, input, kind } = block as Record<string, unknown>
  return type === 'tool-call'
    ? { type, signature, name, kind: kind === 'legacy' ? 'function' : kind, input: parsed(input || '{}') }
    : { type, text, signature: signature ?? null, data }
}

function idOf(block: object | undefined): unknown {
  return block !== undefined && 'id' in block ? block.id : null
}

function gist({ output, status, usage, incomplete_details: details }: Readonly<Record<string, unknown>>): object {
  return { output, status, usage, details }
}

function parsed(input: unknown): unknown {
  if (typeof input !== 'string') return input
  try {
    return (JSON.parse(input) as unknown) ?? {}
  } catch {
    return input
  }
}
