import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { itLater } from '../../support/dose.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { ManagementClient } from '../../support/management-client.ts'

let simulator: Simulator
let gateway: TestGateway
let admin: ManagementClient
let made = 0

beforeAll(async () => {
  simulator = await startSimulator()
  gateway = await startGateway({
    config: { management: { private_upstreams: ['127.0.0.1'] } },
    upstreams: [
      {
        id: 'filed',
        dialect: 'openai-chat',
        baseUrl: `${simulator.origin}/v1`,
        models: ['m'],
        keys: [{ id: 'filed-key', credential: 'credential-of-the-file' }],
      },
    ],
  })
  admin = await ManagementClient.ofAdmin(gateway)
})

beforeEach(() => {
  simulator.reset()
})

afterAll(async () => {
  await gateway.stop()
  await simulator.close()
})

function chat(model: string, more: object = {}): Promise<Response> {
  return fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hello' }], ...more }),
  })
}

/** Changes reach the fronts within a second. */
const statusBecomes = (model: string, status: number): Promise<void> =>
  eventually(async () => {
    const answer = await chat(model)
    await answer.arrayBuffer()
    expect(answer.status).toBe(status)
  })

/** An upstream at the simulator with a model of its own, and a key. */
function body(more: object = {}): { id: string; [member: string]: unknown } {
  made += 1
  const id = `made-${made}`
  return {
    id,
    dialect: 'openai-chat',
    base_url: `${simulator.origin}/v1`,
    models: [`model-${made}`],
    keys: [{ id: `${id}-key`, credential: `credential-number-${made}-secret` }],
    ...more,
  }
}

const create = async (more: object = {}): Promise<{ id: string; model: string; key: string }> => {
  const sent = body(more)
  await admin.expect('adminCreateUpstream', 201, { body: sent })
  return { id: sent.id, model: `model-${made}`, key: `${sent.id}-key` }
}

const credentialsSeen = (): string[] => simulator.requests().map(({ credential }) => credential)

describe('an upstream', () => {
  it('that is made here serves its models, and shows no more of its secrets than their end', async () => {
    const sent = body({ headers: { 'X-Tenant': 'header-secret-value' } })
    const created = await admin.expect('adminCreateUpstream', 201, { body: sent })

    expect(created.json).toMatchObject({
      id: sent.id,
      source: 'stored',
      state: 'active',
      problem: null,
      dialect: 'openai-chat',
      auth: 'bearer',
      base_url: `${simulator.origin}/v1`,
      header_names: ['x-tenant'],
      models: [{ id: `model-${made}`, upstream_model: `model-${made}`, owned_by: sent.id }],
      keys: [{ id: `${sent.id}-key`, credential_masked: '…cret', state: 'active', max_concurrency: 1000 }],
      settings: { dialect: 'openai-chat', models: [`model-${made}`] },
    })
    await statusBecomes(`model-${made}`, 200)
    const [request] = simulator.requests().slice(-1)
    expect(request?.credential).toBe(`credential-number-${made}-secret`)
    expect(request?.headers['x-tenant']).toBe('header-secret-value')
    for (const name of ['adminListUpstreams', 'adminGetUpstream', 'adminListUpstreamKeys'] as const) {
      const { text } = await admin.expect(name, 200, { params: { id: sent.id } })
      expect(text).not.toContain('credential-number')
      expect(text).not.toContain('header-secret-value')
      expect(text).not.toContain('credential-of-the-file')
    }
  })

  it('of a known provider needs no more than its name and a key', async () => {
    const created = await admin.expect('adminCreateUpstream', 201, {
      body: { id: 'my-groq', provider: 'groq', keys: [{ credential: 'gsk_0123456789abcdef' }], enabled: false },
    })
    expect(created.json).toMatchObject({ provider: 'groq', dialect: 'openai-chat', state: 'disabled', enabled: false })
    await admin.expect('adminDeleteUpstream', 204, { params: { id: 'my-groq' } })
  })

  it.each<[string, object, string]>([
    ['an unknown dialect', { dialect: 'latin' }, '/dialect'],
    ['an unknown provider', { provider: 'nobody' }, '/provider'],
    ['no dialect and no provider', { dialect: undefined }, '/dialect'],
    ['an address with a password', { base_url: 'http://a:b@c' }, '/base_url'],
    ['an address that names the path', { base_url: 'http://c/v1/chat/completions' }, '/base_url'],
    ['no models', { models: [] }, '/models'],
    ['a model of the wrong kind', { models: [{ id: 'a', weight: -1 }] }, '/models/0/weight'],
    ['a header that is the credential', { headers: { Authorization: 'x' } }, '/headers/Authorization'],
    ['a header with a line break', { headers: { a: 'x\ny' } }, '/headers/a'],
    ['a wait of no time', { timeouts: { idle_ms: 0 } }, '/timeouts/idle_ms'],
    ['an unknown quirk', { quirks: { takes_tea: true } }, '/quirks/takes_tea'],
    ['a credential with a line break', { keys: [{ credential: 'a\nb' }] }, '/keys/0/credential'],
    ['a key with no slots', { keys: [{ credential: 'a', max_concurrency: 0 }] }, '/keys/0/max_concurrency'],
    ['a field that nobody knows', { colour: 'red' }, '/colour'],
    ['an id with blanks', { id: 'a b' }, '/id'],
  ])('is refused with %s, as in the configuration file', async (_, more, param) => {
    const { json } = await admin.expect('adminCreateUpstream', 400, { body: body(more) })
    expect(json['error']).toMatchObject({ code: 'INVALID_FIELD', param })
  })

  it('does not take the id of another one, or of a key of another one', async () => {
    const { id, key } = await create()
    for (const taken of [id, 'filed']) {
      const { json } = await admin.expect('adminCreateUpstream', 409, { body: body({ id: taken }) })
      expect(json['error']).toMatchObject({ code: 'CONFLICT', param: '/id' })
    }
    for (const taken of [key, 'filed-key']) {
      const { json } = await admin.expect('adminCreateUpstream', 409, {
        body: body({
          keys: [
            { id: 'free', credential: 'x' },
            { id: taken, credential: 'x' },
          ],
        }),
      })
      expect(json['error']).toMatchObject({ code: 'CONFLICT', param: '/keys/1/id' })
    }
  })

  it('of the configuration is shown, and not changed', async () => {
    const { json } = await admin.expect('adminListUpstreams', 200, { query: { limit: '100' } })
    expect(json['data']).toContainEqual(
      expect.objectContaining({ id: 'filed', source: 'file', settings: null, created_at: null }),
    )
    const params = { id: 'filed', keyId: 'filed-key' }
    for (const [name, sent] of [
      ['adminUpdateUpstream', {}],
      ['adminDeleteUpstream', undefined],
      ['adminCreateUpstreamKey', { credential: 'x' }],
      ['adminUpdateUpstreamKey', {}],
      ['adminDeleteUpstreamKey', undefined],
    ] as const) {
      const refused = await admin.expect(name, 409, { params, ...(sent === undefined ? {} : { body: sent }) })
      expect(refused.json['error']).toMatchObject({ code: 'CONFLICT' })
    }
    expect((await admin.expect('adminGetUpstreamKey', 200, { params })).json).toMatchObject({ source: 'file' })
  })

  it('takes changes: what is not given stays, null is taken away, and all of it has to be valid', async () => {
    const { id, model } = await create({ name: 'before', headers: { a: 'b' }, timeouts: { idle_ms: 5000 } })
    const changed = await admin.expect('adminUpdateUpstream', 200, {
      params: { id },
      body: { name: null, models: [model, `${model}-more`], headers: { c: 'd' } },
    })
    expect(changed.json).toMatchObject({ name: id, header_names: ['c'], timeouts: { idle_ms: 5000 } })
    await statusBecomes(`${model}-more`, 200)
    const refused = await admin.expect('adminUpdateUpstream', 400, { params: { id }, body: { dialect: null } })
    expect(refused.json['error']).toMatchObject({ param: '/dialect' })
    await admin.expect('adminUpdateUpstream', 404, { params: { id: 'nobody' }, body: {} })
    await admin.expect('adminGetUpstream', 404, { params: { id: 'nobody' } })
  })

  it('gets no new requests when it is turned off or deleted; what is under way goes on', async () => {
    const { id, model } = await create()
    await statusBecomes(model, 200)
    simulator.setDefaults({ ttftMs: 1500 })
    const running = chat(model)
    await eventually(() => {
      expect(simulator.requests().at(-1)).toMatchObject({ endedAt: null })
    })
    await admin.expect('adminUpdateUpstream', 200, { params: { id }, body: { enabled: false } })
    await statusBecomes(model, 404)
    expect((await running).status).toBe(200)
    simulator.reset()
    await admin.expect('adminUpdateUpstream', 200, { params: { id }, body: { enabled: true } })
    await statusBecomes(model, 200)
    await admin.expect('adminDeleteUpstream', 204, { params: { id } })
    await statusBecomes(model, 404)
    await admin.expect('adminDeleteUpstream', 404, { params: { id } })
  })
})

describe('a key of an upstream', () => {
  it('is made, used, changed and deleted; a deleted one is not used any more', async () => {
    const { id, model, key } = await create()
    const other = await admin.expect('adminCreateUpstreamKey', 201, {
      params: { id },
      body: { credential: 'the-other-credential-of-it', name: 'other', priority: 1 },
    })
    const params = { id, keyId: String(other.json['id']) }
    expect(other.json).toMatchObject({ name: 'other', credential_masked: '…f-it', priority: 1 })
    await statusBecomes(model, 200)

    await admin.expect('adminDeleteUpstreamKey', 204, { params: { id, keyId: key } })
    await eventually(async () => {
      await (await chat(model)).arrayBuffer()
      expect(credentialsSeen().at(-1)).toBe('the-other-credential-of-it')
    })
    const sofar = simulator.requests().at(-1)?.n ?? 0
    for (let i = 0; i < 5; i++) expect((await chat(model)).status).toBe(200)
    expect(new Set(simulator.requests(sofar).map(({ credential }) => credential))).toEqual(
      new Set(['the-other-credential-of-it']),
    )

    const changed = await admin.expect('adminUpdateUpstreamKey', 200, {
      params,
      body: { credential: 'yet-another-credential', max_concurrency: 7, weight: 0.5 },
    })
    expect(changed.json).toMatchObject({ credential_masked: '…tial', max_concurrency: 7, weight: 0.5, name: 'other' })
    await eventually(async () => {
      await (await chat(model)).arrayBuffer()
      expect(credentialsSeen().at(-1)).toBe('yet-another-credential')
    })
    await admin.expect('adminUpdateUpstreamKey', 200, { params, body: { enabled: false } })
    expect((await admin.expect('adminGetUpstreamKey', 200, { params })).json).toMatchObject({ state: 'disabled' })
    await statusBecomes(model, 404)
    const listed = await admin.expect('adminListUpstreamKeys', 200, { params })
    expect(listed.json).toMatchObject({ total: 1, data: [{ id: params.keyId }] })
  })

  itLater('serves as many at a time as it is told to, also while it serves', async () => {
    const { id, model, key } = await create({ keys: [] })
    const params = { id, keyId: `${key}-slots` }
    await admin.expect('adminCreateUpstreamKey', 201, {
      params,
      body: { id: params.keyId, credential: 'counted-credential', max_concurrency: 1 },
    })
    await statusBecomes(model, 200)
    const atATime = async (count: number): Promise<void> => {
      await eventually(async () => {
        simulator.reset()
        simulator.setDefaults({ ttftMs: 300 })
        const answers = await Promise.all(Array.from({ length: 6 }, () => chat(model)))
        for (const answer of answers) expect(answer.status).toBe(200)
        expect(simulator.stats().maxInFlight).toBe(count)
      })
    }
    await atATime(1)
    await admin.expect('adminUpdateUpstreamKey', 200, { params, body: { max_concurrency: 3 } })
    await atATime(3)
    await admin.expect('adminUpdateUpstreamKey', 200, { params, body: { max_concurrency: 2 } })
    await atATime(2)
  })

  it('may come after its upstream', async () => {
    const { id, model } = await create({ keys: [] })
    await admin.expect('adminCreateUpstreamKey', 201, { params: { id }, body: { credential: 'a' } })
    await statusBecomes(model, 200)
  })

  it('is refused as in the configuration file', async () => {
    const { id, key } = await create()
    const params = { id, keyId: key }
    for (const [sent, param] of [
      [{ credential: ' a ' }, '/credential'],
      [{ credential: 'a', max_concurrency: 0 }, '/max_concurrency'],
      [{ credential: 'a', weight: -1 }, '/weight'],
    ] as const) {
      for (const [name, more] of [
        ['adminCreateUpstreamKey', {}],
        ['adminUpdateUpstreamKey', {}],
      ] as const) {
        const { json } = await admin.expect(name, 400, { params, body: { ...sent, ...more } })
        expect(json['error']).toMatchObject({ param })
      }
    }
    const taken = await admin.expect('adminCreateUpstreamKey', 409, { params, body: { id: key, credential: 'a' } })
    expect(taken.json['error']).toMatchObject({ code: 'CONFLICT' })
    for (const name of ['adminGetUpstreamKey', 'adminDeleteUpstreamKey', 'adminUpdateUpstreamKey'] as const) {
      const sent = name === 'adminUpdateUpstreamKey' ? { body: {} } : {}
      await admin.expect(name, 404, { params: { id, keyId: 'nobody' }, ...sent })
      await admin.expect(name, 404, { params: { id: 'nobody', keyId: key }, ...sent })
    }
  })
})

describe('a test of an upstream', () => {
  it('makes one small call and says how it went', async () => {
    const { id, model, key } = await create()
    const { json } = await admin.expect('adminTestUpstream', 200, { params: { id }, body: {} })
    expect(json).toMatchObject({ ok: true, status: 200, model, key_id: key, error: null })
    expect(credentialsSeen()).toEqual([`credential-number-${made}-secret`])
    const ofFile = await admin.expect('adminTestUpstream', 200, { params: { id: 'filed' }, body: { model: 'm' } })
    expect(ofFile.json).toMatchObject({ ok: true, key_id: 'filed-key' })
  })

  it.each(['anthropic-messages', 'gemini', 'cohere-chat'])('speaks %s', async (dialect) => {
    const base = dialect === 'anthropic-messages' ? `${simulator.origin}/v1` : simulator.origin
    const { id } = await create({ dialect, base_url: base })
    const { json } = await admin.expect('adminTestUpstream', 200, { params: { id }, body: {} })
    expect(json).toMatchObject({ ok: true, status: 200 })
  })

  it('asks for embeddings and rankings where models are for these', async () => {
    const { id } = await create({ models: ['some-embed', 'some-rerank'] })
    for (const model of ['some-embed', 'some-rerank']) {
      const { json } = await admin.expect('adminTestUpstream', 200, { params: { id }, body: { model } })
      expect(json).toMatchObject({ ok: true, model })
    }
    expect(simulator.requests().map(({ path }) => path)).toEqual(['/v1/embeddings', '/v1/rerank'])
  })

  it('says what is wrong in the words of the gateway, and nothing that the upstream said', async () => {
    const { id } = await create()
    const credential = `credential-number-${made}-secret`
    const { host } = new URL(simulator.origin)
    simulator.configureKey(credential, {
      status: 401,
      errorBody: JSON.stringify({ error: { message: `Bad key ${credential} at ${host}` } }),
    })
    const refused = await admin.expect('adminTestUpstream', 200, { params: { id }, body: {} })
    expect(refused.json).toMatchObject({ ok: false, status: 401, error: { code: 'UPSTREAM_AUTH' } })
    expect(refused.text).not.toContain('Bad key')
    expect(refused.text).not.toContain(credential)
    expect(refused.text).not.toContain(host)

    simulator.configureKey(credential, { fault: 'redirect' })
    const redirected = await admin.expect('adminTestUpstream', 200, { params: { id }, body: {} })
    expect(redirected.json).toMatchObject({ ok: false })
    expect(simulator.stats().redirectsFollowed).toBe(0)

    await admin.expect('adminUpdateUpstream', 200, { params: { id }, body: { base_url: 'http://127.0.0.1:1/v1' } })
    const lost = await admin.expect('adminTestUpstream', 200, { params: { id }, body: {} })
    expect(lost.json).toMatchObject({ ok: false, status: null, error: { code: 'UPSTREAM_UNREACHABLE' } })
  })

  it('gives up in time', async () => {
    const { id } = await create({ timeouts: { first_byte_ms: 300 } })
    simulator.setDefaults({ fault: 'hang-before-headers' })
    const { json } = await admin.expect('adminTestUpstream', 200, { params: { id }, body: {} })
    expect(json).toMatchObject({ ok: false, status: null, error: { code: 'UPSTREAM_TIMEOUT' } })
  })

  it('refuses what it cannot call', async () => {
    const { id } = await create({ keys: [], models: ['any-*'] })
    const test = (sent: object): Promise<unknown> =>
      admin.call('adminTestUpstream', { params: { id }, body: sent }).then(({ json }) => json['error'])
    expect(await test({})).toMatchObject({ code: 'INVALID_FIELD', param: '/model' })
    expect(await test({ model: 'other' })).toMatchObject({ code: 'INVALID_FIELD', param: '/model' })
    expect(await test({ model: 'any-one' })).toMatchObject({ code: 'CONFLICT' })
    expect(await test({ model: 'any-one', key_id: 'x' })).toMatchObject({ code: 'INVALID_FIELD', param: '/key_id' })
    await admin.expect('adminTestUpstream', 404, { params: { id: 'nobody' }, body: {} })
  })
})
