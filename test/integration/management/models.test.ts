import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { itLater } from '../../support/dose.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { ManagementClient } from '../../support/management-client.ts'

const MILLION = 1_000_000

let simulator: Simulator
let gateway: TestGateway
let admin: ManagementClient

beforeAll(async () => {
  simulator = await startSimulator()
  gateway = await startGateway({
    upstreams: [
      // Of a known provider, for which the catalogue has prices of its own.
      {
        id: 'first',
        dialect: 'openai-chat',
        baseUrl: `${simulator.origin}/v1`,
        models: ['priced', 'plain', 'llama-3.3-70b-versatile', 'some/model'],
        more: { provider: 'groq' },
      },
      { id: 'second', dialect: 'openai-chat', baseUrl: `${simulator.origin}/v1`, models: ['other'] },
    ],
    config: { models: [{ id: 'priced', prices: { input: MILLION, output: 2 * MILLION }, aliases: ['cheap'] }] },
  })
  admin = await ManagementClient.ofAdmin(gateway)
})

afterEach(async () => {
  await admin.expect('adminReplaceModels', 200, { body: { models: [] } })
})

afterAll(async () => {
  await gateway.stop()
  await simulator.close()
})

function chat(model: string): Promise<Response> {
  return fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hello' }] }),
  })
}

/** What a request costs, as the log has it, and what it used. */
async function costOf(model: string): Promise<{ cost: number; prompt: number; completion: number }> {
  const answer = await chat(model)
  expect(answer.status).toBe(200)
  await answer.arrayBuffer()
  const row = await gateway.logRow(answer.headers.get('x-request-id') ?? '')
  return {
    cost: (row as unknown as { cost: number }).cost,
    prompt: row.prompt_tokens,
    completion: row.completion_tokens,
  }
}

/** Changes reach the fronts, and who settles, within a second. */
const costBecomes = (model: string, input: number, output: number): Promise<void> =>
  eventually(
    async () => {
      const { cost, prompt, completion } = await costOf(model)
      expect(cost).toBe(prompt * input + completion * output)
    },
    { timeoutMs: 40_000 },
  )

const get = async (id: string): Promise<Record<string, unknown>> =>
  (await admin.expect('adminGetModel', 200, { params: { id } })).json

const set = async (id: string, body: object): Promise<Record<string, unknown>> =>
  (await admin.expect('adminUpdateModel', 200, { params: { id }, body })).json

describe('the catalogue', () => {
  it('lists every model that may be asked for, other names too, with who serves it and what it costs', async () => {
    const { json } = await admin.expect('adminListModels', 200, { query: { limit: '100' } })
    const models = json['data'] as Array<Record<string, unknown>>
    expect(models.map(({ id }) => id)).toEqual(
      expect.arrayContaining(['cheap', 'llama-3.3-70b-versatile', 'other', 'plain', 'priced', 'some/model']),
    )
    expect(models.find(({ id }) => id === 'priced')).toMatchObject({
      source: 'file',
      alias_of: null,
      aliases: ['cheap'],
      prices: { input: MILLION, output: 2 * MILLION, cached_input: MILLION, cache_write: MILLION, long_prompts: [] },
      prices_source: 'file',
      deployments: [{ upstream: 'first', upstream_model: 'priced', prices: { input: MILLION } }],
      settings: null,
    })
    expect(models.find(({ id }) => id === 'cheap')).toMatchObject({ alias_of: 'priced', prices: { input: MILLION } })
    expect(models.find(({ id }) => id === 'llama-3.3-70b-versatile')).toMatchObject({ prices_source: 'built-in' })
    expect(models.find(({ id }) => id === 'plain')).toMatchObject({ prices: null, prices_source: null })
    const found = await admin.expect('adminListModels', 200, { query: { search: '70b' } })
    expect(found.json).toMatchObject({ total: 1, data: [{ id: 'llama-3.3-70b-versatile' }] })
    for (const [prices, isKnown] of [
      ['known', true],
      ['unknown', false],
    ] as const) {
      const some = (await admin.expect('adminListModels', 200, { query: { prices, limit: '100' } })).json
      const shown = some['data'] as Array<Record<string, unknown>>
      expect(shown.every((model) => (model['prices'] !== null) === isKnown)).toBe(true)
      expect(shown.some(({ id }) => id === (isKnown ? 'priced' : 'plain'))).toBe(true)
    }
    await admin.expect('adminGetModel', 404, { params: { id: 'nothing' } })
  })

  itLater('has prices that count for the requests that come after, over those of file and provider', async () => {
    await costBecomes('priced', 1, 2)
    const shown = await set('priced', { prices: { input: 3 * MILLION, output: 5 * MILLION } })
    expect(shown).toMatchObject({ source: 'stored', prices: { input: 3 * MILLION }, prices_source: 'stored' })
    await costBecomes('priced', 3, 5)

    await set('llama-3.3-70b-versatile', { prices: { input: 7 * MILLION, output: 11 * MILLION, cached_input: 0 } })
    expect(await get('llama-3.3-70b-versatile')).toMatchObject({
      prices: { cached_input: 0, cache_write: 7 * MILLION },
    })
    await costBecomes('llama-3.3-70b-versatile', 7, 11)

    await admin.expect('adminDeleteModel', 204, { params: { id: 'priced' } })
    expect(await get('priced')).toMatchObject({ source: 'file', prices_source: 'file', settings: null })
    await costBecomes('priced', 1, 2)
    await admin.expect('adminDeleteModel', 404, { params: { id: 'priced' } })
  })

  it('lets a name be served by others than before, under their names, at its price', async () => {
    const shown = await set('fast', {
      deployments: [
        { upstream: 'second', upstream_model: 'behind-it', weight: 2 },
        { upstream: 'first', priority: 1 },
      ],
      prices: { input: 13 * MILLION, output: 0 },
    })
    expect(shown).toMatchObject({
      source: 'stored',
      owned_by: 'second',
      deployments: [
        { upstream: 'second', upstream_model: 'behind-it', weight: 2, prices: { input: 13 * MILLION } },
        { upstream: 'first', upstream_model: 'fast', priority: 1, prices: { input: 13 * MILLION } },
      ],
    })
    await eventually(async () => {
      expect((await chat('fast')).status).toBe(200)
    })
    expect(simulator.requests().at(-1)?.body).toContain('behind-it')
    await costBecomes('fast', 13, 0)
    await set('fast', { deployments: null })
    expect(await get('fast')).toMatchObject({ owned_by: null, deployments: [] })
    await eventually(async () => {
      expect((await chat('fast')).status).toBe(404)
    })
  })

  it('gives models other names and limits, keeps what is not given, and takes back what is null', async () => {
    await set('plain', { aliases: ['simple'], context_tokens: 1000, max_output_tokens: 100, tools: true })
    await eventually(async () => {
      expect((await chat('simple')).status).toBe(200)
    })
    expect(await set('plain', { images: false, tools: null })).toMatchObject({
      aliases: ['simple'],
      context_tokens: 1000,
      max_output_tokens: 100,
      images: false,
      tools: null,
      settings: { aliases: ['simple'], context_tokens: 1000, max_output_tokens: 100, images: false },
    })
    expect(await get('simple')).toMatchObject({ alias_of: 'plain', context_tokens: 1000 })
    // What is said of names stands for all that was said of them before.
    expect(await set('priced', { aliases: [] })).toMatchObject({ aliases: [] })
    await eventually(async () => {
      expect((await chat('cheap')).status).toBe(404)
    })
  })

  it('takes names with slashes and patterns', async () => {
    expect(await set('some/model', { prices: { input: 1, output: 1 } })).toMatchObject({ id: 'some/model' })
    const shown = await set('free-*', { deployments: [{ upstream: 'first', upstream_model: '*' }] })
    expect(shown).toMatchObject({ id: 'free-*', deployments: [{ upstream_model: '*' }] })
    await eventually(async () => {
      expect((await chat('free-beer')).status).toBe(200)
    })
    expect(simulator.requests().at(-1)?.body).toContain('"beer"')
    await admin.expect('adminDeleteModel', 204, { params: { id: 'some/model' } })
    // A price of one of the models that a pattern stands for, by the name that clients use.
    expect(await set('free-lunch', { prices: { input: 19 * MILLION, output: 0 } })).toMatchObject({
      owned_by: 'first',
      deployments: [{ upstream: 'first', upstream_model: 'lunch', prices: { input: 19 * MILLION } }],
    })
    await costBecomes('free-lunch', 19, 0)
    await admin.expect('adminDeleteModel', 404, { params: { id: 'no\0thing' } })
  })

  it('is replaced at once', async () => {
    await set('plain', { tools: true })
    const { json } = await admin.expect('adminReplaceModels', 200, {
      body: {
        models: [
          { id: 'other', prices: { input: 17 * MILLION, output: 0 } },
          { id: 'priced', aliases: ['dear'] },
        ],
      },
    })
    expect(json).toEqual({ set: 2, removed: 1 })
    expect(await get('plain')).toMatchObject({ settings: null })
    await costBecomes('other', 17, 0)
    await costBecomes('dear', 1, 2)
  })

  it.each<[string, string, object, number, string | null]>([
    ['a price below nothing', 'plain', { prices: { input: -1, output: 0 } }, 400, '/prices/input'],
    ['a price that is no whole number', 'plain', { prices: { input: 0.5, output: 0 } }, 400, '/prices/input'],
    ['half a price', 'plain', { prices: { input: 1 } }, 400, '/prices/output'],
    [
      'steps that do not rise',
      'plain',
      {
        prices: {
          input: 1,
          output: 1,
          long_prompts: [2, 1].map((above_tokens) => ({ above_tokens, input: 1, output: 1 })),
        },
      },
      400,
      '/prices/long_prompts',
    ],
    ['an upstream that there is not', 'plain', { deployments: [{ upstream: 'x' }] }, 400, '/deployments/0/upstream'],
    ['nobody to serve it', 'plain', { deployments: [] }, 400, '/deployments'],
    ['no room', 'plain', { context_tokens: 0 }, 400, '/context_tokens'],
    ['other names for a pattern', 'x-*', { aliases: ['x'] }, 400, '/aliases'],
    ['a "*" inside', 'x*y', {}, 400, '/id'],
    ['an unknown quirk', 'plain', { quirks: { takes_tea: true } }, 400, '/quirks/takes_tea'],
    ['the name of another model', 'plain', { aliases: ['other'] }, 409, '/aliases/0'],
    ['another name of a model', 'cheap', { prices: { input: 1, output: 1 } }, 409, null],
    ['a field that nobody knows', 'plain', { colour: 'red' }, 400, '/colour'],
  ])('refuses %s', async (_, id, body, status, param) => {
    const { json } = await admin.expect('adminUpdateModel', status, { params: { id }, body })
    expect(json['error']).toMatchObject({ param })
    if (param === '/colour') return
    const all = await admin.expect('adminReplaceModels', status, { body: { models: [{ id: 'ok' }, { id, ...body }] } })
    expect(all.json['error']).toMatchObject({ param: param === null ? null : `/models/1${param}` })
  })

  it('does not take a model twice', async () => {
    const { json } = await admin.expect('adminReplaceModels', 400, { body: { models: [{ id: 'a' }, { id: 'a' }] } })
    expect(json['error']).toMatchObject({ param: '/models/1/id' })
  })
})
