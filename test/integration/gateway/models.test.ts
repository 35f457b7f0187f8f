import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { generateApiKey } from '../../../src/shared/core/api-key.ts'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import {
  arrivals,
  call,
  chat,
  expectChatError,
  expectRow,
  jsonOf,
  messages,
  uniqueMark,
} from '../../support/ai-calls.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'

const NARROW_KEY = generateApiKey()
/** Ids as they occur: with a slash, a colon, blanks and letters of other scripts. */
const ODD_IDS = ['maker/big-model', 'big:8b', 'my model', 'größe', '100%']

let simulator: Simulator
let gateway: TestGateway

beforeAll(async () => {
  simulator = await startSimulator()
  const baseUrl = `${simulator.origin}/v1`
  const owned = { id: 'm', owned_by: 'somebody' } as unknown as string
  gateway = await startGateway({
    upstreams: [
      { dialect: 'openai-chat', baseUrl, models: [owned, 'shared', ...ODD_IDS] },
      { dialect: 'anthropic-messages', baseUrl, models: ['c', 'shared', 'family-*'] },
      {
        dialect: 'anthropic-messages',
        baseUrl,
        models: ['claude-*', { id: 'mine/*', upstream_model: 'claude-haiku-*' } as never],
      },
    ],
    keys: [{ name: 'narrow', key: NARROW_KEY, models: ['c', 'not-there'] }],
  })
})

afterAll(async () => {
  await gateway.stop()
  await simulator.close()
})

it('lists each model once, with the members of both protocols', async () => {
  const answer = await call(gateway, { path: '/v1/models' })
  expect(answer.status).toBe(200)
  const { object, data } = jsonOf(answer) as { object: string; data: Array<{ id: string }> }
  expect(object).toBe('list')
  const ids = data.map(({ id }) => id)
  expect(ids).toEqual(expect.arrayContaining(['c', 'm', 'shared', ...ODD_IDS]))
  expect(ids).toEqual([...new Set(ids)])
  expect(ids.filter((id) => id.includes('*'))).toEqual([])
  expect(data.find(({ id }) => id === 'm')).toEqual({
    id: 'm',
    object: 'model',
    created: expect.any(Number),
    owned_by: 'somebody',
    context_window: null,
    max_output_tokens: null,
    capabilities: { images: null, tools: null, reasoning: null },
    type: 'model',
    display_name: 'm',
    created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
  })
  await expectRow(gateway, answer, {
    status: 200,
    endpoint: 'models.list',
    settlement: 'none',
    attempts: 0,
    model: null,
  })
})

it('lists what a key may use, and no more', async () => {
  const headers = { authorization: `Bearer ${NARROW_KEY}` }
  const { data } = jsonOf(await call(gateway, { path: '/v1/models', headers })) as { data: Array<{ id: string }> }
  expect(data.map(({ id }) => id)).toEqual(['c'])
  expect((await call(gateway, { path: '/v1/models/c', headers })).status).toBe(200)
  for (const id of ['m', 'not-there']) {
    const hidden = await call(gateway, { path: `/v1/models/${id}`, headers })
    expectChatError(hidden, { status: 404, type: 'invalid_request', code: 'MODEL_NOT_FOUND' })
    await expectRow(gateway, hidden, { status: 404, endpoint: 'models.get', model: id, error_code: 'MODEL_NOT_FOUND' })
  }
})

it('tells of every model it lists, to both clients', async () => {
  const openai = new OpenAI({ apiKey: gateway.apiKey, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
  const anthropic = new Anthropic({ apiKey: gateway.apiKey, baseURL: gateway.url, maxRetries: 0 })
  const seen: string[] = []
  for await (const { id } of openai.models.list()) {
    expect(await openai.models.retrieve(id)).toMatchObject({ id, object: 'model' })
    expect(await anthropic.models.retrieve(id)).toMatchObject({ id, type: 'model' })
    seen.push(id)
  }
  expect(seen.length).toBeGreaterThan(ODD_IDS.length + 3)
  const listed: string[] = []
  for await (const { id } of anthropic.models.list({ limit: 3 })) listed.push(id)
  expect(listed).toEqual(seen)
})

it('tells of a model whose id holds a slash when the client does not encode it', async () => {
  expect(jsonOf(await call(gateway, { path: '/v1/models/maker/big-model' }))).toMatchObject({ id: 'maker/big-model' })
})

it('tells of a model that a pattern stands for, and of none beside it', async () => {
  expect(jsonOf(await call(gateway, { path: '/v1/models/family-7' }))).toMatchObject({
    id: 'family-7',
    object: 'model',
  })
  expect((await messages(gateway, { model: 'family-7' })).status).toBe(200)
  for (const id of ['famil', 'Family-7', '', '%', '%ff', 'm/']) {
    const answer = await call(gateway, { path: `/v1/models/${id}` })
    expect(answer.status, id).toBe(404)
  }
})

it('asks the upstream for models by their ids, however odd', async () => {
  for (const model of ODD_IDS) {
    const mark = uniqueMark()
    const answer = await chat(gateway, { model, user: mark })
    expect(answer.status, answer.text).toBe(200)
    expect(jsonOf({ text: arrivals(simulator, mark)[0]?.body ?? '' })).toMatchObject({ model })
  }
})

it('answers HEAD with the headers alone', async () => {
  const answer = await call(gateway, { path: '/v1/models', method: 'HEAD' })
  expect(answer.status).toBe(200)
  expect(answer.text).toBe('')
})

it('serves both under the vendor path too, for clients that take it as their base', async () => {
  const client = new Anthropic({ baseURL: `${gateway.url}/anthropic`, apiKey: gateway.apiKey })
  const listed = await client.models.list()
  expect(listed.data.map(({ id }) => id)).toContain('c')
  expect((await client.models.retrieve('maker/big-model')).id).toBe('maker/big-model')
})

it('lists what the catalogue knows of a pattern, with its limits and what it can', async () => {
  const { data } = jsonOf(await call(gateway, { path: '/v1/models' })) as {
    data: Array<{ id: string; created: number }>
  }
  const known = {
    context_window: 200_000,
    max_output_tokens: 64_000,
    capabilities: { images: true, tools: true, reasoning: true },
  }
  for (const id of ['claude-haiku-4-5', 'mine/4-5']) {
    expect(data.find((model) => model.id === id)).toMatchObject(known)
    expect((await messages(gateway, { model: id })).status).toBe(200)
  }
  expect(data.every(({ created }) => created > 1_600_000_000)).toBe(true)
  // One that the list does not name, of a date that its id names.
  const dated = jsonOf(await call(gateway, { path: '/v1/models/claude-haiku-4-5-20251001' }))
  expect(dated).toMatchObject({
    ...known,
    created: Date.UTC(2025, 9, 1) / 1000,
    created_at: '2025-10-01T00:00:00.000Z',
  })
})

it('tells clients of messages in their own shape, page by page in both directions', async () => {
  const headers = { 'anthropic-version': '2023-06-01' }
  const page = async (query: string): Promise<Record<string, unknown>> =>
    jsonOf(await call(gateway, { path: `/v1/models${query}`, headers }))
  const whole = await page('?limit=1000')
  const ids = (whole['data'] as Array<{ id: string }>).map(({ id }) => id)
  expect(Object.keys(whole).sort()).toEqual(['data', 'first_id', 'has_more', 'last_id'])
  expect(whole).toMatchObject({ has_more: false, first_id: ids[0], last_id: ids.at(-1) })
  expect((whole['data'] as unknown[])[ids.indexOf('claude-haiku-4-5')]).toEqual({
    type: 'model',
    id: 'claude-haiku-4-5',
    display_name: 'claude-haiku-4-5',
    created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
    max_input_tokens: 200_000,
    max_tokens: 64_000,
    capabilities: { image_input: { supported: true }, thinking: { supported: true } },
  })
  const idsOf = (answer: Record<string, unknown>): string[] =>
    (answer['data'] as Array<{ id: string }>).map(({ id }) => id)
  expect(idsOf(await page(''))).toEqual(ids.slice(0, 20))
  const middle = await page(`?limit=2&after_id=${encodeURIComponent(ids[1] ?? '')}`)
  expect([idsOf(middle), middle['has_more']]).toEqual([ids.slice(2, 4), true])
  const back = await page(`?limit=2&before_id=${encodeURIComponent(ids[3] ?? '')}`)
  expect([idsOf(back), back['has_more']]).toEqual([ids.slice(1, 3), true])
  for (const [query, param] of [
    ['limit=0', '/limit'],
    ['limit=1001', '/limit'],
    ['limit=x', '/limit'],
    ['after_id=nobody', '/after_id'],
    ['before_id=nobody', '/before_id'],
  ]) {
    const refused = await call(gateway, { path: `/v1/models?${query}`, headers })
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining(String(param).slice(1))])
  }
})
