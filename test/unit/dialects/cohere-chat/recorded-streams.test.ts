import { afterAll, describe, expect, it } from 'vitest'
import type { Answer } from '../../../../src/shared/core/answer.ts'
import { CohereDecoder } from '../../../../src/dialects/cohere-chat/decoder.ts'
import { parseAnswer } from '../../../../src/dialects/cohere-chat/parse-answer.ts'
import { comparableBlocks } from '../../../support/answer-blocks.ts'
import { assembleCohere } from '../../../support/assemble-cohere.ts'
import { cutsOf, decodeStream } from '../../../support/decode-stream.ts'
import { loadCloudFixtures } from '../../../support/recorded-fixtures.ts'
import { SeededRandom } from '../../../support/seeded-random.ts'
import { readStream } from '../../../support/stream-reader.ts'

const RANDOM_CUTS = 20
const all = loadCloudFixtures('cohere-chat')
const streams = all.filter(({ kind }) => kind === 'stream')
const answers = all.filter(({ kind, response }) => kind === 'response' && !isVersion1(response))
const leftOut = all.filter(({ kind, response }) => kind === 'response' && isVersion1(response))
let replays = 0

/** The predecessor of the dialect, which nothing here speaks. */
function isVersion1(body: Buffer): boolean {
  return 'response_id' in (JSON.parse(body.toString()) as object)
}

describe('a recorded Cohere stream', () => {
  afterAll(() => {
    console.log(
      `Cohere: ${streams.length} streams in ${replays} cuts, ${answers.length} whole answers; left out (version 1): ${leftOut.map(({ id }) => id).join(', ')}`,
    )
  })

  it.each(streams.map((fixture) => [fixture.id, fixture] as const))(
    'means the same as its whole answer, however it is cut: %s',
    (id, fixture) => {
      const random = new SeededRandom(id.length)
      const whole = parseAnswer(assembleCohere(fixture.response)) as Answer
      const expected = comparableBlocks(whole.content)
      expect(expected.length).toBeGreaterThan(0)
      for (const cut of cutsOf(fixture.response, () => random.next(), RANDOM_CUTS)) {
        const { blocks, end } = readStream(decodeStream(new CohereDecoder(), 'sse', cut))
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
      const last = fixture.response.indexOf('event: message-end')
      for (const end of [0, 1, last >> 1, last - 1, last, last + 40]) {
        const events = decodeStream(new CohereDecoder(), 'sse', [fixture.response.subarray(0, end)])
        expect(readStream(events).failure).not.toBeNull()
      }
    },
  )
})

describe('a recorded answer of Cohere', () => {
  it.each(answers.map((fixture) => [fixture.id, fixture] as const))('is read whole: %s', (_id, fixture) => {
    const body = JSON.parse(fixture.response.toString()) as {
      message: { content?: { text?: string; thinking?: string }[]; tool_plan?: string; tool_calls?: unknown[] }
      usage: { tokens: { input_tokens: number; output_tokens: number } }
    }
    const answer = parseAnswer(body) as Answer
    const thought = [...(body.message.content ?? []).map((part) => part.thinking), body.message.tool_plan]
    const textOf = (type: string): string =>
      answer.content.map((block) => (block.type === type && 'text' in block ? block.text : '')).join('')
    expect(textOf('text')).toBe((body.message.content ?? []).map((part) => part.text ?? '').join(''))
    expect(textOf('thinking')).toBe(thought.map((text) => text ?? '').join(''))
    expect(answer.content.filter(({ type }) => type === 'tool-call')).toHaveLength(body.message.tool_calls?.length ?? 0)
    expect(answer.stop.reason === 'tool-calls').toBe((body.message.tool_calls ?? []).length > 0)
    const { input_tokens: promptTokens, output_tokens: completionTokens } = body.usage.tokens
    expect(answer.usage).toMatchObject({ promptTokens, completionTokens })
  })

  it('of the version before is no answer', () => {
    for (const { response } of leftOut) {
      expect(parseAnswer(JSON.parse(response.toString()))).toMatchObject({ type: 'invalid_answer' })
    }
  })
})
