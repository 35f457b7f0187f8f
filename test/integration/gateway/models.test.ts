import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { generateApiKey } from '../../../src/core/api-key.ts'
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
  expect(data.map(({ id }) => id).sort()).toEqual(['c', 'family-*', 'm', 'shared', ...ODD_IDS].sort())
  expect(data.find(({ id }) => id === 'm')).toEqual({
    id: 'm',
    object: 'model',
    created: expect.any(Number),
    owned_by: 'somebody',
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
  expect(seen).toHaveLength(ODD_IDS.length + 4)
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
