import { Compile } from 'typebox/compile'
import { describe, expect, it } from 'vitest'
import { Embeddings } from '../../../src/shared/endpoints/embeddings.ts'
import type { AnswerRequest } from '../../../src/shared/core/dialect.ts'
import { dialectOf } from '../../../src/dialects/codecs.ts'
import { createValidator } from '../../../src/front/validation/validate.ts'
import fc from '../../support/fast-check.ts'
import { loadEndpointFixtures } from '../../support/recorded-fixtures.ts'

const dialect = dialectOf('openai-embeddings')
const validator = createValidator({ maxDepth: 64, maxElements: 1_000_000 })
const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value))

function asking(encoding: 'float' | 'base64' | 'as-is', inputs = 1): AnswerRequest {
  return { expected: { kind: 'embeddings', encoding, inputs }, estimatedPromptTokens: 9 }
}

interface Answer {
  data: Array<{ object: string; index: number; embedding: unknown }>
  usage: object
}

/** What the client gets of an upstream's answer. */
function answerTo(request: AnswerRequest, answer: unknown): Answer {
  const read = dialect.readAnswer(json(answer), request)
  expect(read.failure).toBeNull()
  return JSON.parse((read.body ?? json(answer)).toString()) as Answer
}

const entry = (index: number, embedding: unknown) => ({ object: 'embedding', index, embedding })
const answerOf = (...data: unknown[]) => ({
  object: 'list',
  data,
  model: 'm',
  usage: { prompt_tokens: 3, total_tokens: 3 },
})

describe('recorded embeddings', () => {
  const fixtures = loadEndpointFixtures('embeddings')

  it.each(fixtures.filter(({ status }) => status === 200).map((fixture) => [fixture.id, fixture] as const))(
    '%s comes out in the shape of the contract, in the encoding asked for',
    (_, { request, response, provider }) => {
      const asked = request === null ? null : validator.validate('embeddings', request)
      const { usage, failure, body } = dialect.readAnswer(response, asked ?? asking('as-is', 2))
      expect(failure).toBeNull()
      const answer = JSON.parse((body ?? response).toString()) as Answer
      expect([...Compile(Embeddings).Errors(answer)]).toEqual([])
      expect(answer.data.map(({ index }) => index)).toEqual(answer.data.map((_entry, position) => position))
      if (asked?.expected?.kind === 'embeddings' && provider !== 'perplexity' && asked.expected.encoding !== 'as-is') {
        const type = asked.expected.encoding === 'float' ? 'object' : 'string'
        for (const { embedding } of answer.data) expect(typeof embedding).toBe(type)
      }
      expect(usage === null || usage.promptTokens > 0).toBe(true)
    },
  )

  it.each(fixtures.filter(({ status }) => status !== 200).map((fixture) => [fixture.id, fixture] as const))(
    '%s has a message',
    (_, { status, response }) => {
      expect(dialect.readFailure(status, response).message).not.toBe('')
    },
  )
})

describe('the encoding', () => {
  const float32 = fc.float({ min: -1000, max: 1000, noNaN: true })

  it('is base64 of little-endian float32 when that was asked for and the upstream has numbers', () => {
    fc.assert(
      fc.property(fc.array(float32, { minLength: 1, maxLength: 50 }), (numbers) => {
        const [first] = answerTo(asking('base64'), answerOf(entry(0, numbers))).data
        const bytes = Buffer.from(String(first?.embedding), 'base64')
        expect(numbers.map((_, i) => bytes.readFloatLE(i * 4))).toEqual(numbers.map((n) => (n === 0 ? 0 : n)))
        expect(bytes.length).toBe(numbers.length * 4)
      }),
    )
  })

  it('is numbers when those were asked for and the upstream has base64; there and back changes nothing', () => {
    fc.assert(
      fc.property(fc.array(float32, { minLength: 1, maxLength: 50 }), (numbers) => {
        const plain = numbers.map((n) => (n === 0 ? 0 : n))
        const base64 = answerTo(asking('base64'), answerOf(entry(0, plain))).data[0]?.embedding
        expect(answerTo(asking('float'), answerOf(entry(0, base64))).data[0]?.embedding).toEqual(plain)
      }),
    )
  })

  it('stays when it is another one, asked for or not', () => {
    for (const bytes of [Buffer.from([1, 2, 3]), Buffer.from([0xec, 0x10, 0x03, 0x71])]) {
      const base64 = bytes.toString('base64')
      expect(answerTo(asking('float'), answerOf(entry(0, base64))).data[0]?.embedding).toBe(base64)
    }
    const { data } = answerTo(asking('as-is'), answerOf(entry(0, 'AQID')))
    expect(data[0]?.embedding).toBe('AQID')
  })
})

describe('an answer', () => {
  it('passes as it came when there is nothing to change', () => {
    expect(dialect.readAnswer(json(answerOf(entry(0, [1, 2]))), asking('float')).body).toBeNull()
    expect(dialect.readAnswer(json(answerOf(entry(0, 'AACAPw=='))), asking('base64')).body).toBeNull()
  })

  it('is brought into the order of the inputs', () => {
    const { data } = answerTo(asking('float', 3), answerOf(entry(2, [2]), entry(0, [0]), entry(1, [1])))
    expect(data).toEqual([entry(0, [0]), entry(1, [1]), entry(2, [2])])
  })

  it('gets the index and the object that a service leaves out, and keeps what it adds', () => {
    const answer = answerTo(asking('float', 2), { data: [{ embedding: [1] }, { embedding: [2] }], id: 'x' })
    expect(answer).toMatchObject({ object: 'list', id: 'x', data: [entry(0, [1]), entry(1, [2])] })
  })

  it('has usage: that of the service, else the estimate, which is not booked as its own', () => {
    const voyage = { object: 'list', data: [entry(0, [1])], model: 'm', usage: { total_tokens: 7 } }
    expect(answerTo(asking('float'), voyage).usage).toEqual({ prompt_tokens: 7, total_tokens: 7 })
    expect(dialect.readAnswer(json(voyage), asking('float')).usage).toMatchObject({ promptTokens: 7 })
    const silent = { object: 'list', data: [entry(0, [1])], model: 'm' }
    expect(answerTo(asking('float'), silent).usage).toEqual({ prompt_tokens: 9, total_tokens: 9 })
    expect(dialect.readAnswer(json(silent), asking('float')).usage).toBeNull()
  })

  it.each([
    ['an error', { error: { message: 'boom', type: 'server_error' } }],
    ['no data', {}],
    ['an array', []],
    ['too few vectors', answerOf(entry(0, [1]))],
    ['an index twice', answerOf(entry(0, [1]), entry(0, [2]))],
    ['an index out of range', answerOf(entry(0, [1]), entry(2, [2]))],
    ['a vector that is null', answerOf(entry(0, [1]), entry(1, null))],
  ])('is a failure when it holds %s', (_, answer) => {
    expect(dialect.readAnswer(json(answer), asking('float', 2)).failure).not.toBeNull()
  })

  it('is a failure when numbers are missing from what has to be encoded', () => {
    expect(dialect.readAnswer(json(answerOf(entry(0, [1, null]))), asking('base64')).failure?.type).toBe(
      'invalid_answer',
    )
  })
})
