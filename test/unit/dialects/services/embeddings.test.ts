import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { SERVICES } from '../../../../src/shared/core/service.ts'
import type { ProtocolOf } from '../../../../src/shared/core/service.ts'
import type { ServiceRules } from '../../../../src/shared/core/service.ts'
import fc from '../../../support/fast-check.ts'
import type { Json } from '../../../support/plain-json.ts'
import { loadUpstreamFixtures } from '../../../support/recorded-fixtures.ts'
import { ask as askService, refusalOf, shown } from './ask.ts'
import type { Asked } from './ask.ts'

type Protocol = ProtocolOf<'embeddings'>

const ask = (protocol: Protocol, request: object, rules: ServiceRules = {}): Asked =>
  askService('embeddings', protocol, request, rules)

const base64 = (...numbers: number[]): string => Buffer.from(Float32Array.from(numbers).buffer).toString('base64')

/** How each service answers with these vectors. */
const ANSWERS: Readonly<Record<Protocol, (vectors: number[][], tokens: number) => unknown>> = {
  'openai-embeddings': likeOpenai,
  'voyage-embeddings': (vectors, tokens) => ({ ...likeOpenai(vectors, tokens), usage: { total_tokens: tokens } }),
  'jina-embeddings': likeOpenai,
  'cohere-embeddings': (vectors, tokens) => ({
    id: 'x',
    embeddings: { float: vectors },
    meta: { billed_units: { input_tokens: tokens } },
  }),
  'gemini-embeddings': (vectors, tokens) => ({
    embeddings: vectors.map((values) => ({ values })),
    usageMetadata: { promptTokenCount: tokens },
  }),
  'vertex-embeddings': (vectors, tokens) => ({
    predictions: vectors.map((values, index) => ({
      embeddings: { values, statistics: { token_count: index === 0 ? tokens : 0 } },
    })),
  }),
}

function likeOpenai(vectors: number[][], tokens: number): object {
  const data = vectors.map((embedding, index) => ({ object: 'embedding', index, embedding }))
  // The order of answers is not promised.
  return { object: 'list', data: data.reverse(), model: 'u', usage: { prompt_tokens: tokens, total_tokens: tokens } }
}

describe('what each service is asked', () => {
  it.each<[Protocol, Json, string[]]>([
    ['openai-embeddings', { model: 'u', input: ['a', 'b'], dimensions: 4, user: 'w', encoding_format: 'base64' }, []],
    ['voyage-embeddings', { model: 'u', input: ['a', 'b'], output_dimension: 4, encoding_format: 'base64' }, ['user']],
    ['jina-embeddings', { model: 'u', input: ['a', 'b'], dimensions: 4, embedding_type: 'base64' }, ['user']],
    [
      'cohere-embeddings',
      {
        model: 'u',
        texts: ['a', 'b'],
        input_type: 'search_document',
        embedding_types: ['float'],
        output_dimension: 4,
      },
      ['user'],
    ],
    [
      'gemini-embeddings',
      {
        requests: ['a', 'b'].map((text) => ({
          model: 'models/u',
          content: { parts: [{ text }] },
          outputDimensionality: 4,
        })),
      },
      ['user'],
    ],
  ])('%s', (protocol, body, dropped) => {
    const asked = ask(protocol, { input: ['a', { text: 'b' }], dimensions: 4, user: 'w', encoding_format: 'base64' })
    expect(asked.bodies).toEqual([body])
    expect(asked.dropped).toEqual(dropped)
  })

  it('vertex-embeddings, one input at a time', () => {
    const { bodies } = ask('vertex-embeddings', { input: ['a', 'b'], dimensions: 4, task_type: 'RETRIEVAL_QUERY' })
    expect(bodies).toEqual(
      ['a', 'b'].map((content) => ({
        instances: [{ content, task_type: 'RETRIEVAL_QUERY' }],
        parameters: { outputDimensionality: 4 },
      })),
    )
  })

  it('as the recorded requests of Gemini ask', () => {
    const id = 'gemini-embedding-multimodal-embeddings-gemini-gemini-embedding-2-embeds-text-with-custom-dimensions'
    const file = new URL(`../../../fixtures/recorded/embeddings/${id}.request.json`, import.meta.url)
    const recorded = JSON.parse(readFileSync(fileURLToPath(file), 'utf8'))
    const input = recorded.requests[0].content.parts[0].text as string
    const model = recorded.requests[0].model as string
    expect(ask('gemini-embeddings', { input, dimensions: 768 }).bodies).toEqual([
      { requests: [{ ...recorded.requests[0], model: 'models/u' }] },
    ])
    expect(model).toMatch(/^models\//)
  })

  it('words of the service that the contract does not know pass', () => {
    expect(ask('cohere-embeddings', { input: 'a', input_type: 'search_query' }).bodies[0]).toMatchObject({
      input_type: 'search_query',
    })
    expect(ask('voyage-embeddings', { input: 'a', input_type: 'query' }).bodies[0]).toMatchObject({
      input_type: 'query',
    })
    expect(ask('jina-embeddings', { input: [{ image: 'https://x' }], task: 'x' }).bodies[0]).toMatchObject({
      input: [{ image: 'https://x' }],
      task: 'x',
    })
  })

  it('hosts have their own words and refusals', () => {
    const rules = { fieldNames: { dimensions: 'output_dimension' }, refusedFields: ['encoding_format', 'user'] }
    const request = { input: 'a', dimensions: 4, encoding_format: 'base64', user: 'w' }
    const { bodies, dropped } = ask('openai-embeddings', request, rules)
    expect(bodies).toEqual([{ model: 'u', input: ['a'], output_dimension: 4 }])
    // The encoding is the client's all the same.
    expect(dropped).toEqual(['user'])
  })

  it('never the address or the key of a client', () => {
    expect(
      ask('openai-embeddings', { input: 'a', api_base: 'http://x', api_key: 'k' }, { maxPerCall: 1 }).bodies,
    ).toEqual([{ model: 'u', input: ['a'] }])
  })
})

describe('what cannot be asked', () => {
  const others = SERVICES.embeddings.protocols.filter((protocol) => protocol !== 'openai-embeddings')

  it.each(others)('tokens, of %s', (protocol) => {
    for (const input of [
      [1, 2],
      [[1], [2]],
    ]) {
      expect(refusalOf(() => ask(protocol, { input }))).toEqual({ code: 'UNSUPPORTED_FIELD', param: '/input' })
    }
  })

  it('tokens pass where they are those of the model', () => {
    expect(ask('openai-embeddings', { input: [1, 2] }).bodies[0]?.input).toEqual([[1, 2]])
    expect(ask('openai-embeddings', { input: [[1, 2], [3]] }).bodies[0]?.input).toEqual([[1, 2], [3]])
  })

  it('pictures, of services of texts', () => {
    expect(refusalOf(() => ask('cohere-embeddings', { input: [{ image: 'x' }] })).param).toBe('/input')
  })

  it('more inputs than its calls may hold', () => {
    const input = Array.from({ length: 33 }, () => 'a')
    expect(ask('openai-embeddings', { input: input.slice(1) }, { maxPerCall: 1 }).bodies).toHaveLength(32)
    expect(refusalOf(() => ask('openai-embeddings', { input }, { maxPerCall: 1 }))).toEqual({
      code: 'UNSUPPORTED_FIELD',
      param: '/input',
    })
  })

  it('numbers of a kind that a service does not have', () => {
    expect(refusalOf(() => ask('gemini-embeddings', { input: 'a', encoding_format: 'int8' }))).toEqual({
      code: 'UNSUPPORTED_FIELD',
      param: '/encoding_format',
    })
  })
})

describe('what comes back', () => {
  const protocols = SERVICES.embeddings.protocols.map((protocol) => [protocol] as const)

  it.each(protocols)('of %s is as one answer, however many calls it took', (protocol) => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 20 }),
        fc.integer({ min: 1, max: 20 }),
        fc.constantFrom('float', 'base64', undefined),
        (inputs, maxPerCall, format) => {
          fc.pre(Math.ceil(inputs / maxPerCall) <= 32)
          const input = Array.from({ length: inputs }, (_, i) => `text ${i}`)
          const asked = ask(protocol, { input, encoding_format: format }, { maxPerCall })
          expect(asked.sizes.reduce((sum, size) => sum + size, 0)).toBe(inputs)
          expect(Math.max(...asked.sizes)).toBeLessThanOrEqual(maxPerCall)
          let at = 0
          const answers = asked.sizes.map((size) => {
            const vectors = Array.from({ length: size }, () => [at++, 0.5])
            return ANSWERS[protocol](vectors, 3)
          })
          const answer = shown(asked.answered(...answers))
          const tokens = 3 * answers.length
          expect(answer).toEqual({
            object: 'list',
            data: input.map((_, index) => ({
              object: 'embedding',
              index,
              embedding: format === 'base64' ? base64(index, 0.5) : [index, 0.5],
            })),
            model: 'm',
            usage: { prompt_tokens: tokens, total_tokens: tokens },
          })
          expect(asked.answered(...answers).usage?.promptTokens).toBe(tokens)
        },
      ),
      { numRuns: 30 },
    )
  })

  it.each(protocols)('of %s is no answer when vectors are missing, broken or none', (protocol) => {
    const { answered } = ask(protocol, { input: ['a', 'b'] }, { maxPerCall: 2 })
    const answer = ANSWERS[protocol]
    for (const broken of [answer([[1]], 1), answer([[1], []], 1), answer([[1], ['x'] as never], 1), {}, [], null]) {
      expect(answered(broken).failure?.type).toBe('invalid_answer')
    }
    expect(answered({ error: { message: 'boom', type: 'server_error' } }).failure?.message).toBe('boom')
  })

  it('is estimated where one of the calls is not counted', () => {
    const asked = ask('gemini-embeddings', { input: ['a', 'b'] }, { maxPerCall: 1 })
    const answers = [ANSWERS['gemini-embeddings']([[1]], 3), { embeddings: [{ values: [2] }] }]
    expect(asked.answered(...answers).usage).toBeNull()
    expect(shown(asked.answered(...answers)).usage).toEqual({ prompt_tokens: 7, total_tokens: 7 })
  })

  it('is read from every recorded answer of Gemini', () => {
    let read = 0
    for (const { id, kind, response } of loadUpstreamFixtures('gemini')) {
      if (!id.startsWith('embeddings/')) continue
      const value = JSON.parse(response.toString())
      const answer = ask('gemini-embeddings', { input: 'a' }).answered(value)
      if (kind === 'error') {
        expect(answer.failure?.type, id).toBe('NOT_FOUND')
        continue
      }
      expect(shown(answer).data, id).toEqual([
        { object: 'embedding', index: 0, embedding: (value.embedding ?? value.embeddings[0]).values },
      ])
      read++
    }
    expect(read).toBe(3)
  })
})
