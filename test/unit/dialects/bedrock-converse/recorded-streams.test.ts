import { afterAll, describe, expect, it } from 'vitest'
import type { Answer } from '../../../../src/shared/core/answer.ts'
import { ConverseDecoder } from '../../../../src/dialects/bedrock-converse/decoder.ts'
import { parseAnswer } from '../../../../src/dialects/bedrock-converse/parse-answer.ts'
import { writeAwsFrame } from '../../../../src/shared/wire/aws-event-stream.ts'
import { assembleConverse } from '../../../support/assemble-converse.ts'
import { comparableBlocks } from '../../../support/answer-blocks.ts'
import { cutsOf, decodeStream } from '../../../support/decode-stream.ts'
import type { Json } from '../../../support/plain-json.ts'
import { loadCloudFixtures } from '../../../support/recorded-fixtures.ts'
import type { CloudFixture } from '../../../support/recorded-fixtures.ts'
import { SeededRandom } from '../../../support/seeded-random.ts'
import { readStream } from '../../../support/stream-reader.ts'

const RANDOM_CUTS = 20
const streams = loadCloudFixtures('bedrock-converse').filter(({ kind }) => kind === 'stream')
const answers = loadCloudFixtures('bedrock-converse').filter(({ kind }) => kind === 'response')
let replays = 0

/** Some recordings kept the events and not their frames. */
function bytesOf(fixture: CloudFixture): Buffer {
  if (fixture.format === 'eventstream') return fixture.response
  return Buffer.concat(fixture.decoded.map(({ headers, payload }) => writeAwsFrame(headers, JSON.stringify(payload))))
}

describe('a recorded Converse stream', () => {
  afterAll(() => {
    console.log(
      `Converse: ${streams.length} streams in ${replays} cuts, ${answers.length} whole answers, none left out`,
    )
  })

  it.each(streams.map((fixture) => [fixture.id, fixture] as const))(
    'means the same as its whole answer, however it is cut: %s',
    (id, fixture) => {
      const random = new SeededRandom(id.length)
      const whole = parseAnswer(assembleConverse(fixture.decoded)) as Answer
      const expected = comparableBlocks(whole.content)
      expect(expected.length + Number(whole.stop.reason === 'content-filter')).toBeGreaterThan(0)
      for (const cut of cutsOf(bytesOf(fixture), () => random.next(), RANDOM_CUTS)) {
        const { blocks, end } = readStream(decodeStream(new ConverseDecoder(), 'aws-event-stream', cut))
        expect(comparableBlocks(blocks)).toEqual(expected)
        expect(end?.stop).toEqual(whole.stop)
        expect(end?.usage).toEqual(whole.usage)
        replays++
      }
    },
  )

  it.each(streams.map((fixture) => [fixture.id, fixture] as const))(
    'that breaks off is an error: %s',
    (_id, fixture) => {
      const events = fixture.decoded.filter(({ headers }) => headers[':event-type'] !== 'metadata')
      const frames = events.map(({ headers, payload }) => writeAwsFrame(headers, JSON.stringify(payload)))
      const stop = events.findIndex(({ headers }) => headers[':event-type'] === 'messageStop')
      for (let kept = 0; kept <= stop; kept++) {
        const { failure } = readStream(decodeStream(new ConverseDecoder(), 'aws-event-stream', frames.slice(0, kept)))
        expect(failure).not.toBeNull()
      }
      // Only its usage is missing.
      const { end } = readStream(decodeStream(new ConverseDecoder(), 'aws-event-stream', frames.slice(0, stop + 1)))
      expect(end).toMatchObject({ usage: null })
    },
  )
})

function textOf(cited: Json): string {
  return (cited?.content ?? []).map((part: Json) => part.text).join('')
}

describe('a recorded answer of Converse', () => {
  it.each(answers.map((fixture) => [fixture.id, fixture] as const))('is read whole: %s', (_id, fixture) => {
    const body = JSON.parse(fixture.response.toString()) as {
      output: { message: { content: Json[] } }
      usage: { inputTokens: number; outputTokens: number; totalTokens: number }
    }
    const answer = parseAnswer(body) as Answer
    const texts = body.output.message.content.map((block) => block['text'] ?? textOf(block['citationsContent']))
    const said = answer.content.flatMap((block) => (block.type === 'text' ? [block] : []))
    expect(said.map(({ text }) => text)).toEqual(texts.filter((text) => text !== ''))
    const cited = body.output.message.content.flatMap((block) => block['citationsContent']?.['citations'] ?? [])
    expect(said.flatMap(({ citations }) => citations ?? []).map(({ native }) => native)).toEqual(cited)
    expect(answer.usage?.completionTokens).toBe(body.usage.outputTokens)
    expect(answer.usage).toMatchObject({ promptTokens: body.usage.totalTokens - body.usage.outputTokens })
    const calls = body.output.message.content.filter(
      (block) => 'toolUse' in block && block['toolUse']['type'] !== 'server_tool_use',
    )
    expect(answer.content.filter(({ type }) => type === 'tool-call')).toHaveLength(calls.length)
    if (calls.length > 0) expect(answer.stop.reason).toBe('tool-calls')
  })

  it('that is an error is no answer', () => {
    for (const fixture of loadCloudFixtures('bedrock-converse').filter(({ kind }) => kind === 'error')) {
      expect(parseAnswer(JSON.parse(fixture.response.toString()))).toMatchObject({ type: 'invalid_answer' })
    }
  })
})
