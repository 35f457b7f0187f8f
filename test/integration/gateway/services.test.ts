import OpenAI from 'openai'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Behaviour } from '../../../src/simulator/behaviour.ts'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { credentialOf, serviceHosts } from '../../support/service-hosts.ts'

let simulator: Simulator
let gateway: TestGateway
let openai: OpenAI

beforeAll(async () => {
  simulator = await startSimulator()
  gateway = await startGateway({ upstreams: serviceHosts(simulator) })
  openai = new OpenAI({ apiKey: gateway.apiKey, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
})

afterAll(async () => {
  await gateway.stop()
  await simulator.close()
})

beforeEach(() => {
  simulator.reset()
})

const post = (path: string, body: object): Promise<Response> =>
  fetch(`${gateway.url}/v1/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })

const bodies = (): unknown[] => simulator.requests().map(({ body }) => JSON.parse(body.toString()) as unknown)

const rowOf = (response: Response): ReturnType<TestGateway['logRow']> =>
  gateway.logRow(response.headers.get('x-request-id') ?? '')

interface Failure {
  readonly error: { readonly code: string; readonly param: string | null; readonly message: string }
}

const failureOf = async (response: Response): Promise<Failure['error']> => ((await response.json()) as Failure).error

describe('embeddings', () => {
  const models = ['voyage-m', 'jina-m', 'cohere-m', 'gemini-m', 'native-m', 'vertex-m', 'mistral-m', 'qwen-m']
  const input = ['one', 'two', 'three']

  it.each(models)('of %s are those that OpenAI would have, to its client', async (model) => {
    const { data: answer, response } = await openai.embeddings.create({ model, input, dimensions: 4 }).withResponse()
    const same = await openai.embeddings.create({ model: 'openai-m', input })
    const own = await openai.embeddings.create({ model: 'openai-m', input, dimensions: 4 })
    expect(same.data[0]?.embedding).toHaveLength(8)
    expect(answer.object).toBe('list')
    expect(answer.data.map(({ index }) => index)).toEqual([0, 1, 2])
    for (const [index, { embedding }] of answer.data.entries()) {
      for (const [place, number] of embedding.entries()) {
        expect(number).toBeCloseTo(own.data[index]?.embedding[place] ?? Number.NaN, 6)
      }
      expect(embedding).toHaveLength(4)
    }
    expect(answer.usage.prompt_tokens).toBeGreaterThan(0)
    const row = await rowOf(response)
    expect(row).toMatchObject({ endpoint: 'embeddings', status: 200, model, attempts: 1, completion_tokens: 0 })
    // What Google's first interface does not tell, is counted here.
    expect(row?.prompt_tokens).toBe(answer.usage.prompt_tokens)
  })

  it.each(models)('of %s come as numbers or as bytes, as is asked for', async (model) => {
    const numbers = (await (await post('embeddings', { model, input: 'one', encoding_format: 'float' })).json()) as {
      data: Array<{ embedding: number[] }>
    }
    const bytes = (await (await post('embeddings', { model, input: 'one', encoding_format: 'base64' })).json()) as {
      data: Array<{ embedding: string }>
    }
    const packed = Buffer.from(bytes.data[0]?.embedding ?? '', 'base64')
    const floats = numbers.data[0]?.embedding ?? []
    expect(floats).toHaveLength(8)
    expect(packed).toHaveLength(4 * floats.length)
    for (const [i, number] of floats.entries()) expect(packed.readFloatLE(4 * i)).toBeCloseTo(number, 6)
  })

  it.each([
    ['cohere-m', 250, 3],
    ['gemini-m', 250, 3],
    ['qwen-m', 25, 3],
    ['vertex-m', 5, 5],
    ['jina-m', 250, 1],
  ])('of %s: %i inputs are %i calls and one answer, in order', async (model, count, calls) => {
    // Long enough for the pool, where there are many.
    const many = Array.from({ length: count }, (_, i) => `text ${i} ${'of many words '.repeat(10)}`)
    const { data: answer, response } = await openai.embeddings.create({ model, input: many }).withResponse()
    expect(simulator.stats().started).toBe(calls)
    expect(answer.data.map(({ index }) => index)).toEqual(many.map((_, index) => index))
    const own = await openai.embeddings.create({ model: 'openai-m', input: many })
    const far = answer.data.filter(
      ({ embedding }, i) => Math.abs((embedding[0] ?? 9) - (own.data[i]?.embedding[0] ?? 8)) > 1e-6,
    )
    expect(far).toEqual([])
    // The simulator counts each text by itself.
    if (model !== 'gemini-m') expect(answer.usage.prompt_tokens).toBe(own.usage.prompt_tokens)
    expect(await rowOf(response)).toMatchObject({ attempts: 1, prompt_tokens: answer.usage.prompt_tokens })
  })

  it.each(models.filter((model) => !['mistral-m', 'qwen-m'].includes(model)))(
    'of %s cannot be had of tokens',
    async (model) => {
      const response = await post('embeddings', { model, input: [1, 2, 3] })
      expect(response.status).toBe(400)
      expect(await failureOf(response)).toMatchObject({ code: 'UNSUPPORTED_FIELD', param: '/input' })
      expect(simulator.stats().started).toBe(0)
    },
  )

  it('of more inputs than all calls of one request may hold are refused before anything is asked', async () => {
    const response = await post('embeddings', { model: 'cohere-m', input: Array.from({ length: 3_073 }, () => 'a') })
    expect(response.status).toBe(400)
    const { message, param } = await failureOf(response)
    expect(param).toBe('/input')
    expect(message).toContain('3072')
    expect(simulator.stats().started).toBe(0)
  })

  it('fail as a whole when one of the calls does', async () => {
    simulator.script([{}, { status: 400 }])
    const response = await post('embeddings', { model: 'cohere-m', input: Array.from({ length: 100 }, () => 'a') })
    expect(response.status).toBe(400)
    expect(await failureOf(response)).toMatchObject({ code: 'UPSTREAM_INVALID_REQUEST' })
    expect(simulator.stats().started).toBe(2)
  })

  it.each<[string, Behaviour]>([
    ['is half of JSON', { fault: 'truncated-json' }],
    ['is an error under 200', { fault: 'error-in-200' }],
    ['breaks off', { fault: 'reset-mid-stream' }],
    ['is an error', { status: 500 }],
  ])('try another key when the second of two calls %s', async (_, fault) => {
    simulator.script([{}, fault])
    const input = Array.from({ length: 100 }, (_one, i) => `text ${i}`)
    const { data: answer, response } = await openai.embeddings.create({ model: 'twice-m', input }).withResponse()
    expect(answer.data).toHaveLength(100)
    expect(simulator.stats().started).toBe(4)
    const row = await rowOf(response)
    expect(row).toMatchObject({ status: 200, attempts: 2, prompt_tokens: answer.usage.prompt_tokens })
  })

  it.each(models)('of %s: what the provider refuses is told, and who it is is not', async (model) => {
    const host = model.replace(/-m$/, '')
    const message = `No such size at ${simulator.origin} for ${credentialOf(host)}`
    simulator.setDefaults({ status: 400, errorBody: JSON.stringify({ error: { message } }) })
    const response = await post('embeddings', { model, input: 'a' })
    expect(response.status).toBe(400)
    const error = await failureOf(response)
    expect(error).toMatchObject({ code: 'UPSTREAM_INVALID_REQUEST' })
    expect(error.message).toMatch(/^No such size at/)
    expect(error.message).not.toContain('credential-1234')
    expect(error.message).not.toContain('127.0.0.1')
  })

  it('report what they leave out', async () => {
    const response = await post('embeddings', { model: 'gemini-m', input: 'a', user: 'u', task_type: 'CLUSTERING' })
    expect(response.headers.get('x-sluice-dropped')).toBe('user')
    expect(bodies()).toMatchObject([{ requests: [{ model: 'models/gemini-m', taskType: 'CLUSTERING' }] }])
  })

  it('go to the native interface of a provider with the key in its own header', async () => {
    await post('embeddings', { model: 'gemini-m', input: 'a' })
    const [request] = simulator.requests()
    expect(request?.path).toBe('/v1beta/models/gemini-m:batchEmbedContents')
    expect(request?.credential).toBe(credentialOf('gemini'))
    expect(JSON.stringify(request?.headers)).not.toContain('authorization')
  })

  it('of a provider that serves none do not exist', async () => {
    const response = await post('embeddings', { model: 'xai-m', input: 'a' })
    expect([response.status, (await failureOf(response)).code]).toEqual([404, 'MODEL_NOT_FOUND'])
  })

  it('are all that some providers have: conversations do not exist there', async () => {
    const response = await post('chat/completions', { model: 'voyage-m', messages: [{ role: 'user', content: 'a' }] })
    expect([response.status, (await failureOf(response)).code]).toEqual([404, 'MODEL_NOT_FOUND'])
  })
})

describe('rerank', () => {
  const documents = ['blue sky', { text: 'red apples' }, 'red sky']
  const ranked = [
    { index: 1, relevance_score: 1 },
    { index: 2, relevance_score: 0.5 },
    { index: 0, relevance_score: 0 },
  ]
  const models = ['plain-m', 'cohere-m', 'voyage-m', 'jina-m', 'siliconflow-m', 'together-m', 'tei-m']

  it.each(models)('by %s is sorted and cut', async (model) => {
    const response = await post('rerank', { model, query: 'red apples', documents, top_n: 2 })
    expect(response.status).toBe(200)
    const answer = (await response.json()) as { results: object[]; usage?: object }
    expect(answer.results).toEqual(ranked.slice(0, 2))
    expect(await rowOf(response)).toMatchObject({ endpoint: 'rerank', status: 200, model, attempts: 1 })
  })

  it.each(['plain-m', 'cohere-m', 'voyage-m', 'tei-m'])('by %s shows documents when asked to', async (model) => {
    const response = await post('rerank', { model, query: 'red apples', documents, return_documents: true })
    const { results } = (await response.json()) as { results: Array<{ document: object }> }
    expect(results.map(({ document }) => document)).toEqual([
      { text: 'red apples' },
      { text: 'red sky' },
      { text: 'blue sky' },
    ])
  })

  it('is refused pictures where only texts are ranked', async () => {
    const response = await post('rerank', { model: 'cohere-m', query: 'a', documents: [{ image: 'https://x' }] })
    expect([response.status, (await failureOf(response)).param]).toEqual([400, '/documents'])
  })

  it('counts search units for those who look for them', async () => {
    const response = await post('rerank', { model: 'cohere-m', query: 'a', documents })
    expect(await response.json()).toMatchObject({ meta: { billed_units: { search_units: 1 } } })
  })
})

describe('images', () => {
  const models = [
    'gemini-m',
    'imagen-m',
    'xai-m',
    'together-m',
    'siliconflow-m',
    'openrouter-m',
    'gpt-image-1',
    'dall-e-3',
  ]

  it.each(models)('of %s have a URL, and as many as were asked for', async (model) => {
    const { data: answer, response } = await openai.images
      .generate({ model, prompt: 'a red circle', n: 2, size: '1024x1024' })
      .withResponse()
    expect(answer.data).toHaveLength(2)
    for (const { url } of answer.data ?? []) expect(url).toMatch(/^(data:image\/png;base64,iVBOR|https:\/\/pictures)/)
    expect(await rowOf(response)).toMatchObject({ endpoint: 'images.generations', status: 200, attempts: 1 })
    const calls = { 'gemini-m': 2, 'openrouter-m': 2, 'dall-e-3': 2 }[model] ?? 1
    expect(simulator.stats().started).toBe(calls)
  })

  it.each(['gemini-m', 'imagen-m', 'xai-m', 'together-m', 'openrouter-m', 'gpt-image-1'])(
    'of %s are bytes when those are asked for',
    async (model) => {
      const answer = await openai.images.generate({ model, prompt: 'a red circle', response_format: 'b64_json' })
      expect(answer.data?.[0]?.b64_json).toMatch(/^iVBOR/)
      expect(answer.data?.[0]?.url).toBeUndefined()
    },
  )

  it('are counted, all calls together', async () => {
    const response = await post('images/generations', { model: 'gemini-m', prompt: 'a red circle', n: 3 })
    await response.json()
    expect(await rowOf(response)).toMatchObject({ prompt_tokens: 9, completion_tokens: 816, settlement: 'exact' })
  })

  it('are asked for in the nearest shape, and it is told when that is another', async () => {
    const response = await post('images/generations', { model: 'imagen-m', prompt: 'a', size: '1000x700' })
    expect(response.headers.get('x-sluice-dropped')).toBe('size')
    expect(bodies()).toEqual([{ instances: [{ prompt: 'a' }], parameters: { sampleCount: 1, aspectRatio: '4:3' } }])
  })

  it.each(['gemini-m', 'imagen-m'])('of %s that are withheld are the request’s fault', async (model) => {
    const response = await post('images/generations', { model, prompt: 'keep this back' })
    expect(response.status).toBe(400)
    expect(await failureOf(response)).toMatchObject({ code: 'UPSTREAM_INVALID_REQUEST' })
    expect(simulator.stats().started).toBe(1)
  })
})
