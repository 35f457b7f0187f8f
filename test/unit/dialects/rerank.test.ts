import { Compile } from 'typebox/compile'
import { describe, expect, it } from 'vitest'
import { Ranking } from '../../../src/shared/endpoints/rerank.ts'
import type { AnswerRequest } from '../../../src/shared/core/dialect.ts'
import { dialectOf } from '../../../src/dialects/codecs.ts'
import { createValidator } from '../../../src/front/validation/validate.ts'
import fc from '../../support/fast-check.ts'
import { loadEndpointFixtures } from '../../support/recorded-fixtures.ts'

const dialect = dialectOf('rerank')
const validator = createValidator({ maxDepth: 64, maxElements: 1_000_000 })
const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value))

interface Answer {
  results: Array<{ index: number; relevance_score: number; document?: unknown }>
  usage?: object
  meta?: object
}

function asking(documents: number, more: { topN?: number; showsDocuments?: boolean } = {}): AnswerRequest {
  const expected = {
    kind: 'rerank' as const,
    documents,
    topN: null,
    showsDocuments: true,
    wantsDocuments: false,
    ...more,
  }
  return { expected, estimatedPromptTokens: 9 }
}

function answerTo(request: AnswerRequest, answer: unknown): Answer {
  const { body, failure } = dialect.readAnswer(json(answer), request)
  expect(failure).toBeNull()
  return JSON.parse(String(body)) as Answer
}

describe('recorded rankings', () => {
  const fixtures = loadEndpointFixtures('rerank')

  it.each(fixtures.filter(({ status }) => status === 200).map((fixture) => [fixture.id, fixture] as const))(
    '%s comes out in the shape of the contract, sorted, with its scores as they were',
    (id, { request, response }) => {
      // Zero results are refused as a wish.
      const asked = request === null || id.includes('top-n-zero') ? asking(100) : validator.validate('rerank', request)
      const { body, failure } = dialect.readAnswer(response, asked)
      expect(failure).toBeNull()
      const answer = JSON.parse(String(body)) as Answer
      expect([...Compile(Ranking).Errors(answer)]).toEqual([])
      const scores = answer.results.map(({ relevance_score: score }) => score)
      expect(scores).toEqual([...scores].sort((a, b) => b - a))
      for (const score of scores) expect(response.toString()).toContain(String(score))
    },
  )

  it('are counted in tokens where the service counts them', () => {
    const tokens = (name: string) => {
      const found = fixtures.find(({ id }) => id.includes(name))
      return found === undefined ? -1 : dialect.readAnswer(found.response, asking(100)).usage?.promptTokens
    }
    expect(tokens('jina-rerank-documents')).toBe(42)
    expect(tokens('voyage-test-voyageai-rerank-legacy')).toBe(57)
    expect(tokens('togetherai')).toBe(2966)
    expect(tokens('vercel-cohere')).toBeUndefined()
  })
})

it('sorts by falling score, ties by index, and cuts to top_n, whatever the order and range of what came', () => {
  const scores = fc.array(
    fc.oneof(fc.constantFrom(-4.76, 0, 0.5), fc.double({ noNaN: true, noDefaultInfinity: true })),
    {
      minLength: 1,
      maxLength: 30,
    },
  )
  fc.assert(
    fc.property(scores, fc.integer({ min: 1, max: 40 }), fc.infiniteStream(fc.nat()), (given, topN, dice) => {
      const results = given.map((score, index) => ({ index, relevance_score: score === 0 ? 0 : score }))
      const shuffled = results
        .map((result) => ({ result, at: dice.next().value as number }))
        .sort((a, b) => a.at - b.at)
        .map(({ result }) => result)
      const answer = answerTo(asking(given.length, { topN }), { results: shuffled })
      const sorted = [...results].sort((a, b) => b.relevance_score - a.relevance_score || a.index - b.index)
      expect(answer.results).toEqual(sorted.slice(0, topN))
    }),
  )
})

it.each([
  ['Voyage', { object: 'list', data: [{ relevance_score: 0.5, index: 1, document: 'b' }], usage: { total_tokens: 4 } }],
  ['TEI', [{ index: 1, score: 0.5, text: 'b' }]],
  ['Cohere', { results: [{ index: 1, relevance_score: 0.5, document: { text: 'b' } }] }],
])('reads the shape of %s', (_, answer) => {
  expect(answerTo(asking(2), answer).results).toEqual([{ index: 1, relevance_score: 0.5, document: { text: 'b' } }])
})

it('leaves documents out when they are not wanted, or say nothing', () => {
  const results = [{ index: 0, relevance_score: 1, document: { text: 'a' } }]
  expect(answerTo(asking(1, { showsDocuments: false }), { results }).results).toEqual([
    { index: 0, relevance_score: 1 },
  ])
  const empty = [{ index: 0, relevance_score: 1, document: {} }]
  expect(answerTo(asking(1), { results: empty }).results).toEqual([{ index: 0, relevance_score: 1 }])
})

it('keeps the search units of a service that counts those', () => {
  const meta = { billed_units: { search_units: 1 } }
  const answer = answerTo(asking(1), { results: [{ index: 0, relevance_score: 1 }], meta })
  expect(answer).toEqual({ results: [{ index: 0, relevance_score: 1 }], meta })
})

it.each([
  ['an error', { error: { message: 'boom' } }],
  ['no list', {}],
  ['an index out of range', { results: [{ index: 2, relevance_score: 1 }] }],
  ['an index twice', { results: [0, 0].map((index) => ({ index, relevance_score: 1 })) }],
  ['a score that is text', { results: [{ index: 0, relevance_score: '1' }] }],
])('takes %s for a failure', (_, answer) => {
  expect(dialect.readAnswer(json(answer), asking(2)).failure).not.toBeNull()
})

it('sends texts in the place of {text}, other documents as they are, and nothing else changed', () => {
  const prepare = (text: string): string =>
    dialect.prepareBody(validator.validate('rerank', Buffer.from(text)), { model: 'r', stream: false }).toString()
  const plain = '{ "model":"r", "query":"q","documents":["a", "{b"],"top_n": 1 }'
  expect(prepare(plain)).toBe(plain)
  expect(prepare('{"model":"m", "query":"q", "documents":[{"text":"a"},"b",{"text":"c","id":1}], "x":1.0}')).toBe(
    '{"model":"r", "query":"q", "documents":["a","b",{"text":"c","id":1}], "x":1.0}',
  )
})
