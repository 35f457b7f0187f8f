import OpenAI from 'openai'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'

const FIRST = 'first-credential-1234'
const SECOND = 'second-credential-1234'

let simulator: Simulator
let gateway: TestGateway
let openai: OpenAI

beforeAll(async () => {
  simulator = await startSimulator()
  gateway = await startGateway({
    upstreams: [
      {
        dialect: 'openai-chat',
        baseUrl: `${simulator.origin}/v1`,
        keys: [
          { id: 'first', credential: FIRST },
          { id: 'second', credential: SECOND, weight: 0.000_001 },
        ],
        models: ['m', { id: 'alias', upstream_model: 'the-real/model' }] as unknown as string[],
      },
    ],
  })
  openai = new OpenAI({ apiKey: gateway.apiKey, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
})

afterAll(async () => {
  await gateway.stop()
  await simulator.close()
})

beforeEach(() => {
  simulator.reset()
})

const post = (path: string, body: object | string): Promise<Response> =>
  fetch(`${gateway.url}/v1/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.apiKey}`, 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })

const lastBody = (): string => simulator.requests().at(-1)?.body.toString() ?? ''

/** Stores an answer and makes the next request get it. */
function answerWith(status: number, body: object): void {
  const bytes = Buffer.from(JSON.stringify(body))
  simulator.record({ id: 'one', status, headers: { 'content-type': 'application/json' }, body: bytes, splits: null })
  simulator.script([{ recorded: 'one' }])
}

describe('embeddings', () => {
  it('reach the official client as numbers, though it asks for base64 on the wire', async () => {
    const { data: answer, response } = await openai.embeddings
      .create({ model: 'm', input: ['one', 'two'], dimensions: 4 })
      .withResponse()
    expect(lastBody()).toContain('"encoding_format":"base64"')
    expect(answer.object).toBe('list')
    expect(answer.data.map(({ index, embedding }) => [index, embedding.length])).toEqual([
      [0, 4],
      [1, 4],
    ])
    for (const { embedding } of answer.data) expect(Math.hypot(...embedding)).toBeCloseTo(1, 5)
    const row = await gateway.logRow(response.headers.get('x-request-id') ?? '')
    expect(row).toMatchObject({
      endpoint: 'embeddings',
      status: 200,
      model: 'm',
      prompt_tokens: answer.usage.prompt_tokens,
      completion_tokens: 0,
      settlement: 'exact',
      attempts: 1,
    })
  })

  it('reach the official client from an upstream that has numbers only', async () => {
    simulator.setDefaults({ vectors: 'float' })
    const { data } = await openai.embeddings.create({ model: 'm', input: 'one', dimensions: 4 })
    simulator.setDefaults({ vectors: 'base64' })
    const again = await openai.embeddings.create({ model: 'm', input: 'one', dimensions: 4, encoding_format: 'float' })
    expect(again.data[0]?.embedding).toEqual(data[0]?.embedding)
  })

  it('that are large go through the pool, and come out the same', async () => {
    simulator.setDefaults({ vectors: 'float' })
    const input = Array.from({ length: 40 }, (_, i) => `text ${i}`)
    const whole = await openai.embeddings.create({ model: 'm', input, dimensions: 1536 })
    expect(whole.data).toHaveLength(40)
    const [one] = (await openai.embeddings.create({ model: 'm', input: 'text 39', dimensions: 1536 })).data
    expect(whole.data[39]?.embedding).toEqual(one?.embedding)
  })

  it('send the body on byte for byte, but for the name of the model', async () => {
    const body = '{ "input": [[1, 2], [3]],"model":"alias", "x-unknown": 1.0e2 , "user":"u"}'
    const response = await post('embeddings', body)
    expect(response.status).toBe(200)
    expect(lastBody()).toBe(body.replace('alias', 'the-real/model'))
    expect(await response.json()).toMatchObject({ usage: { prompt_tokens: 3, total_tokens: 3 } })
  })

  it.each([
    [{ model: 'm' }, '/input', 'input is required.'],
    [{ model: 'm', input: [] }, '/input', 'input must not be empty.'],
    [{ model: 'm', input: '' }, '/input', 'input must not be empty.'],
    [{ model: 'm', input: ['a', ''] }, '/input/1', 'input[1] must not be empty.'],
    [{ model: 'm', input: 5 }, '/input', 'input must be a string or an array.'],
    [{ model: 'm', input: 'a', dimensions: 0 }, '/dimensions', 'dimensions must be at least 1.'],
  ])('refuse %j', async (body, param, message) => {
    const response = await post('embeddings', body)
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({
      error: { type: 'invalid_request', code: 'INVALID_FIELD', param, message },
    })
    expect(simulator.stats().started).toBe(0)
  })

  it('raise the official client’s errors', async () => {
    await expect(openai.embeddings.create({ model: 'nothing', input: 'a' })).rejects.toThrow(OpenAI.NotFoundError)
    answerWith(400, {
      error: { message: "-1 is less than the minimum of 1 - 'dimensions'", type: 'invalid_request_error' },
    })
    await expect(openai.embeddings.create({ model: 'm', input: 'a' })).rejects.toThrow(/less than the minimum/)
    const stranger = new OpenAI({ apiKey: 'sk-nobody', baseURL: `${gateway.url}/v1`, maxRetries: 0 })
    await expect(stranger.embeddings.create({ model: 'm', input: 'a' })).rejects.toThrow(OpenAI.AuthenticationError)
  })

  it.each([
    ['vectors are missing', { object: 'list', data: [] }],
    ['it is an error', { error: { message: 'boom', type: 'server_error' } }],
  ])('try another key when a 200 is none: %s', async (_, body) => {
    answerWith(200, body)
    const { data } = await openai.embeddings.create({ model: 'm', input: 'a' })
    expect(data).toHaveLength(1)
    expect(simulator.stats().started).toBe(2)
  })

  it('try another key when a server was started without them', async () => {
    answerWith(501, { error: { code: 501, message: 'This server does not support embeddings.', type: 'x' } })
    expect((await openai.embeddings.create({ model: 'm', input: 'a' })).data).toHaveLength(1)
    expect(simulator.stats().started).toBe(2)
  })
})

describe('rerank', () => {
  const documents = ['blue sky', { text: 'red apples' }, 'red sky']

  it('sorts, cuts and counts', async () => {
    const response = await post('rerank', { model: 'm', query: 'red apples', documents, top_n: 2 })
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({
      model: 'm',
      results: [
        { index: 1, relevance_score: 1 },
        { index: 2, relevance_score: 0.5 },
      ],
      usage: { prompt_tokens: 8, total_tokens: 8 },
    })
    expect(lastBody()).toContain('"documents":["blue sky","red apples","red sky"]')
    const row = await gateway.logRow(response.headers.get('x-request-id') ?? '')
    expect(row).toMatchObject({ endpoint: 'rerank', prompt_tokens: 8, settlement: 'exact' })
  })

  it('does not pass on an index that was not asked about', async () => {
    answerWith(200, { results: [{ index: 3, relevance_score: 1 }] })
    const response = await post('rerank', { model: 'm', query: 'red apples', documents })
    expect(response.status).toBe(200)
    expect(simulator.stats().started).toBe(2)
  })

  it.each([
    [{ model: 'm', documents: ['a'] }, '/query'],
    [{ model: 'm', query: 'a' }, '/documents'],
    [{ model: 'm', query: 'a', documents: [] }, '/documents'],
    [{ model: 'm', query: 'a', documents: [1] }, '/documents/0'],
    [{ model: 'm', query: 'a', documents: ['a'], top_n: 0 }, '/top_n'],
  ])('refuses %j', async (body, param) => {
    const response = await post('rerank', body)
    expect([response.status, await response.json()]).toMatchObject([400, { error: { code: 'INVALID_FIELD', param } }])
  })

  it('tells when all keys fail, with a time to come back', async () => {
    simulator.setDefaults({ fault: 'reset-mid-stream' })
    const response = await post('rerank', { model: 'm', query: 'a', documents: ['a'] })
    expect(response.status).toBe(503)
    expect(response.headers.get('retry-after')).not.toBeNull()
    expect(await response.json()).toMatchObject({ error: { type: 'service_unavailable', code: 'UPSTREAM_TRUNCATED' } })
  })
})

describe('images', () => {
  it('have a URL where the upstream has bytes alone, and are counted', async () => {
    const { data: answer, response } = await openai.images
      .generate({ model: 'm', prompt: 'a red circle', n: 2, size: '1024x1024' })
      .withResponse()
    expect(answer.data).toHaveLength(2)
    for (const { url, b64_json: bytes } of answer.data ?? []) expect(url).toBe(`data:image/png;base64,${bytes}`)
    const row = await gateway.logRow(response.headers.get('x-request-id') ?? '')
    expect(row).toMatchObject({
      endpoint: 'images.generations',
      prompt_tokens: 3,
      completion_tokens: 544,
      settlement: 'exact',
    })
  })

  it('are what was asked for: bytes alone, or the upstream’s URL', async () => {
    const bytes = await openai.images.generate({ model: 'm', prompt: 'a', response_format: 'b64_json' })
    expect(bytes.data?.[0]?.url).toBeUndefined()
    const linked = await openai.images.generate({ model: 'm', prompt: 'a', response_format: 'url' })
    expect(linked.data?.[0]?.url).toMatch(/^https:\/\/pictures/)
  })

  it('that are large go through the pool whole', async () => {
    const big = Buffer.alloc(3_000_000, 7).toString('base64')
    answerWith(200, { created: 1, data: [{ b64_json: big }] })
    const { data } = await openai.images.generate({ model: 'm', prompt: 'a' })
    expect(data?.[0]?.b64_json === big && data[0].url === `data:image/png;base64,${big}`).toBe(true)
  })

  it.each([
    [{ model: 'm' }, '/prompt', 'prompt is required.'],
    [{ model: 'm', prompt: 'a', n: 11 }, '/n', 'n must be between 1 and 10.'],
    [{ model: 'm', prompt: 'a', size: 'large' }, '/size', 'size must look like 1024x1024.'],
    [{ model: 'm', prompt: 'a', stream: true }, '/stream', 'stream must be false: images come whole.'],
    [{ model: 'm', prompt: 'a', response_format: 'png' }, '/response_format', undefined],
  ])('refuse %j', async (body, param, message) => {
    const response = await post('images/generations', body)
    const error = message === undefined ? { param } : { param, message }
    expect([response.status, await response.json()]).toMatchObject([400, { error }])
  })

  it('pass on what the provider has against a prompt', async () => {
    answerWith(400, {
      error: { message: 'Blocked by moderation.', type: 'image_generation_user_error', code: 'moderation_blocked' },
    })
    await expect(openai.images.generate({ model: 'm', prompt: 'a' })).rejects.toThrow(/Blocked by moderation/)
    expect(simulator.stats().started).toBe(1)
  })
})
