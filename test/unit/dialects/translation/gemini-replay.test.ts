import { describe, expect, it } from 'vitest'
import type { Answer } from '../../../../src/shared/core/answer.ts'
import type { Block } from '../../../../src/shared/core/content.ts'
import type { UpstreamFailure } from '../../../../src/shared/core/dialect.ts'
import type { StreamEvent } from '../../../../src/shared/core/stream-event.ts'
import { AnswerCollector } from '../../../../src/dialects/common/collect-answer.ts'
import { geminiCodec } from '../../../../src/dialects/gemini/codec.ts'
import { unsealSignature } from '../../../../src/dialects/common/thought-signature.ts'
import { SseSplitter } from '../../../../src/shared/wire/sse.ts'
import { loadUpstreamFixtures } from '../../../support/recorded-fixtures.ts'
import { byteByByte, cutAt, seededCuts } from '../../wire/sse-oracle.ts'
import { toldByBody, toldByStream } from './gemini-oracle.ts'
import type { Told } from './gemini-oracle.ts'

const MAIN = loadUpstreamFixtures('gemini').filter(
  ({ id, operation }) => id.startsWith('gemini/') && operation === null,
)
const STREAMS = MAIN.filter(({ kind }) => kind === 'stream')
const BODIES = MAIN.filter(({ kind }) => kind === 'response')
const SEEDS = [1, 2, 3, 4]

/** Recorded answers that are to be failures, and why. */
const FAILURES: Readonly<Record<string, string>> = {
  'firebase-googleai-unary-failure-only-prompt-feedback': 'no candidate, no reason',
  'firebase-googleai-unary-failure-with-message-no-content': 'OTHER without content',
  'firebase-vertexai-streaming-failure-empty-content': 'no reason at the end',
  'firebase-vertexai-streaming-failure-error-mid-stream': 'an error behind two chunks',
  'firebase-vertexai-streaming-failure-invalid-json': 'no response at all',
  'firebase-vertexai-streaming-failure-malformed-content': 'no reason at the end',
  'firebase-vertexai-streaming-success-quotes-escaped': 'no reason at the end',
  'firebase-vertexai-unary-failure-empty-content': 'neither content nor reason',
  'firebase-vertexai-unary-failure-invalid-response': 'no response at all',
  'firebase-vertexai-unary-failure-malformed-content': 'neither content nor reason',
}

function decode(chunks: readonly Buffer[]): StreamEvent[] {
  const decoder = geminiCodec.createDecoder()
  const splitter = new SseSplitter()
  const events: StreamEvent[] = []
  const onEvent = (bytes: Buffer, start: number, end: number): void => {
    decoder.decode(bytes, start, end, events)
  }
  for (const chunk of chunks) splitter.split(chunk, onEvent)
  splitter.finish(onEvent)
  decoder.finish(events)
  expect(decoder.over).toBe(true)
  return events
}

function collectAnswer(events: readonly StreamEvent[]): Answer | UpstreamFailure {
  const collector = new AnswerCollector()
  for (const event of events) collector.take(event)
  const answer = collector.answer ?? collector.failure
  if (answer === null) throw new Error('neither an end nor an error')
  return answer
}

function waysToCut(stream: Buffer): Buffer[][] {
  return [[stream], byteByByte(stream), ...SEEDS.map((seed) => cutAt(stream, seededCuts(stream.length, seed)))]
}

function nameOf(id: string): string {
  return id.slice('gemini/'.length)
}

/** A word for each event, which the grammar of `StreamEvent` is held against. */
function wordsOf(events: readonly StreamEvent[]): string {
  return events.map((event) => event.type).join(' ')
}

const GRAMMAR =
  /^(?:start(?: text-start(?: text-delta| citation)* text-end| thinking-start(?: thinking-delta)*(?: thinking-signature)? thinking-end| tool-start(?: tool-delta)* tool-end| native-start(?: native-delta)* native-end| redacted-thinking)* (?:end|error)|error)$/

function expectTold(answer: Answer | UpstreamFailure, told: Told, id: string): void {
  if (!('content' in answer)) throw new Error(`${id}: ${answer.type} ${answer.message}`)
  const { content } = answer
  expect(joined(content, 'text'), id).toBe(told.text)
  expect(joined(content, 'thinking'), id).toBe(told.thinking)
  const calls = content.filter((block) => block.type === 'tool-call')
  expect(
    calls.map(({ name, input, signature }) => ({ name, input: JSON.parse(input as string) as unknown, signature })),
    id,
  ).toEqual(told.calls)
  const ids = calls.flatMap((call) => (call.id === '' ? [] : [call.id]))
  expect(new Set(ids).size, id).toBe(ids.length)
  expect(
    content.flatMap((block) => unsealSignature(block)?.signature ?? []),
    id,
  ).toEqual(told.textSignatures)
  expectStop(answer, told, id)
  const usage = answer.usage && {
    prompt: answer.usage.promptTokens,
    completion: answer.usage.completionTokens,
    cached: answer.usage.cachedTokens,
    reasoning: answer.usage.reasoningTokens,
  }
  expect(usage, id).toEqual(told.usage)
}

function joined(content: readonly Block[], type: 'text' | 'thinking'): string {
  return content.map((block) => (block.type === type ? block.text : '')).join('')
}

function expectStop({ stop }: Answer, told: Told, id: string): void {
  if (told.blockReason !== null) expect(stop, id).toMatchObject({ reason: 'content-filter', native: told.blockReason })
  else if (told.finish === 'MAX_TOKENS') expect(stop.reason, id).toBe('length')
  else if (/SAFETY|RECITATION|ARMOR/.test(String(told.finish))) expect(stop.reason, id).toBe('content-filter')
  else expect(stop.reason, id).toBe(told.calls.length > 0 ? 'tool-calls' : 'end')
}

describe('recorded answers of the gemini dialect', () => {
  it('are read from streams as JSON.parse of all events reads them, wherever the bytes are cut', () => {
    let replays = 0
    let failures = 0
    for (const { id, response } of STREAMS) {
      const whole = decode([response])
      expect(wordsOf(whole), id).toMatch(GRAMMAR)
      for (const chunks of waysToCut(response)) {
        expect(decode(chunks), id).toEqual(whole)
        replays++
      }
      if (nameOf(id) in FAILURES) {
        expect(whole.at(-1)?.type, id).toBe('error')
        failures++
      } else expectTold(collectAnswer(whole), toldByStream(response), id)
    }
    console.log(`gemini streams: ${STREAMS.length} cases, ${replays} replays, ${failures} of them failures`)
    expect(replays).toBe(STREAMS.length * (2 + SEEDS.length))
    expect(STREAMS.length).toBeGreaterThanOrEqual(64)
  })

  it('are read from whole bodies as JSON.parse reads them, and as a stream of one event has them', () => {
    let failures = 0
    for (const { id, response } of BODIES) {
      const answer = geminiCodec.parseAnswer(JSON.parse(response.toString()))
      const asStream = collectAnswer(
        decode([Buffer.from(`data: ${JSON.stringify(JSON.parse(response.toString()))}\r\n\r\n`)]),
      )
      if (nameOf(id) in FAILURES) {
        expect('content' in answer, id).toBe(false)
        expect('content' in asStream, id).toBe(false)
        failures++
        continue
      }
      expectTold(answer, toldByBody(response), id)
      // A stream must tell why it ended; a body that is whole need not.
      if (id !== 'gemini/firebase-vertexai-unary-success-missing-safety-ratings') {
        expect(asStream, id).toEqual(answer)
      }
    }
    console.log(`gemini bodies: ${BODIES.length} cases, ${failures} of them failures`)
    expect(BODIES.length).toBeGreaterThanOrEqual(80)
  })

  it('are read from an array that comes in pieces where it is no stream of events', () => {
    let arrays = 0
    for (const { id, response } of STREAMS) {
      const payloads = response.toString().match(/(?<=^data: ?)\{.*\}(?=\r?$)/gm)
      if (payloads === null || nameOf(id) in FAILURES) continue
      const array = Buffer.from(
        `[${payloads.map((text) => JSON.stringify(JSON.parse(text), null, 2)).join('\n,\r\n')}]`,
      )
      const whole = decode([response])
      expect(decode([array]), id).toEqual(whole)
      expect(decode(cutAt(array, seededCuts(array.length, 1))), id).toEqual(whole)
      expect(geminiCodec.parseAnswer(JSON.parse(array.toString())), id).toEqual(collectAnswer(whole))
      arrays++
    }
    expect(arrays).toBeGreaterThanOrEqual(55)
  })

  it('never look whole when they are cut before the finish reason', () => {
    let cuts = 0
    for (const { id, response } of STREAMS) {
      const text = response.toString('latin1')
      const finishAt = text.search(/"(?:finishReason|blockReason)"/)
      if (nameOf(id) in FAILURES || finishAt === -1) continue
      for (let i = 1; i <= 6; i++) {
        const events = decode([response.subarray(0, Math.floor((finishAt * i) / 7))])
        expect(events.at(-1)?.type, id).toBe('error')
        expect(wordsOf(events), id).toMatch(GRAMMAR)
        cuts++
      }
    }
    expect(cuts).toBeGreaterThan(300)
  })
})
