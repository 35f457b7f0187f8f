import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CAPTURE_ALL, CaptureWorld } from '../../support/capture-world.ts'
import type { CapturingTenant, ShownBodies } from '../../support/capture-world.ts'
import { itLater } from '../../support/dose.ts'
import { eventually } from '../../support/eventually.ts'
import { killChild } from '../../support/nemesis.ts'

const MAX_BODY_BYTES = 8_192
const SECRET = `sk-${'a1b2c3d4'.repeat(5)}`
const sim = (behaviour: object): string => `[[sim ${JSON.stringify(behaviour)}]]`

let world: CaptureWorld
let tenant: CapturingTenant
let key: string

beforeAll(async () => {
  world = await CaptureWorld.start({ fronts: 2, config: { capture: { max_body_bytes: MAX_BODY_BYTES } } })
  tenant = await world.newTenant()
  key = await world.newKey(tenant)
}, 120_000)

afterAll(async () => {
  await world.stop()
})

const user = (content: string): object => ({ messages: [{ role: 'user', content }] })
const isWhole = ({ request, answer }: ShownBodies): boolean => request !== null && answer !== null

describe('the bodies of', () => {
  it.each([
    ['a chat completion', '/v1/chat/completions', { model: 'chat-model', ...user('Grüße 🙂') }],
    ['a stream', '/v1/chat/completions', { model: 'chat-model', stream: true, ...user('Grüße 🙂') }],
    ['a translated answer', '/v1/chat/completions', { model: 'claude', ...user('hi') }],
    ['a translated stream', '/v1/chat/completions', { model: 'claude', stream: true, ...user('hi') }],
    ['messages', '/v1/messages', { model: 'claude', max_tokens: 50, stream: true, ...user('hi') }],
    ['translated messages', '/v1/messages', { model: 'chat-model', max_tokens: 50, stream: true, ...user('hi') }],
    ['a response', '/v1/responses', { model: 'chat-model', stream: true, input: 'hi' }],
    ['embeddings', '/v1/embeddings', { model: 'embed', input: ['one'], dimensions: 8 }],
    ['a refused body', '/v1/chat/completions', { model: 'chat-model', messages: [], temperature: 9 }],
    ['an unknown model', '/v1/chat/completions', { model: 'no-such-model', ...user('hi') }],
    ['a failure of the upstream', '/v1/chat/completions', { model: 'chat-model', ...user(sim({ status: 400 })) }],
  ])('%s are those that the client sent and got', async (_, path, body) => {
    const asked = await world.ask(key, body, path)
    const { request, answer } = await world.bodiesOf(tenant, asked, isWhole)
    expect(request).toMatchObject({ text: asked.sent, truncated: false, complete: true, redactions: 0 })
    expect(request?.bytes).toBe(Buffer.byteLength(asked.sent))
    expect(answer).toMatchObject({ text: asked.text, truncated: false, complete: true, redactions: 0 })
  })

  it('a request beyond the bound are its beginning', async () => {
    const asked = await world.chat(key, `${sim({ tokens: 5 })}${'word '.repeat(4_000)}`)
    const { request } = await world.bodiesOf(tenant, asked, isWhole)
    expect(request).toMatchObject({ truncated: true, complete: true, bytes: Buffer.byteLength(asked.sent) })
    expect(asked.sent.startsWith(request?.text ?? '-')).toBe(true)
    expect(request?.text?.length).toBeGreaterThan(MAX_BODY_BYTES - 10)
  })

  it('a stream beyond the bound are its beginning', async () => {
    const asked = await world.chat(key, sim({ tokens: 400 }), { stream: true })
    const { answer } = await world.bodiesOf(tenant, asked, isWhole)
    expect(answer).toMatchObject({ truncated: true, complete: true, bytes: Buffer.byteLength(asked.text) })
    expect(answer?.text?.length).toBeGreaterThan(MAX_BODY_BYTES - 300)
  })

  it('a stream that the client left say that they are not complete', async () => {
    const left = new AbortController()
    const response = await fetch(`${world.gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'chat-model', stream: true, ...user(sim({ tokens: 1_000, eventsPerSecond: 50 })) }),
      signal: left.signal,
    })
    await response.body?.getReader().read()
    left.abort()
    const id = response.headers.get('x-request-id') ?? ''
    const { answer } = await world.bodiesOf(tenant, { id }, isWhole)
    expect(answer).toMatchObject({ complete: false, truncated: true })
  })
})

describe('redaction', () => {
  it('takes credentials out of requests, answers and streams', async () => {
    for (const stream of [false, true]) {
      const asked = await world.chat(key, `Keep ${SECRET} ${sim({ text: `Your key is ${SECRET}, yes.` })}`, { stream })
      expect(asked.status).toBe(200)
      const { request, answer } = await world.bodiesOf(tenant, asked, isWhole)
      for (const body of [request, answer]) {
        expect(body?.redactions).toBeGreaterThan(0)
        expect(body?.text).toContain('[redacted:api-key]')
        expect(body?.text).not.toContain('a1b2')
      }
    }
  })

  it('takes out what the patterns of the key and of its enterprise match', async () => {
    const of = await world.newTenant({ ...CAPTURE_ALL, redact: ['Falcon'] })
    const own = await world.newKey(of, { capture: { requests: true, redact: ['[0-9]{4}-[0-9]{4}'] } })
    const { request, answer } = await world.bodiesOf(of, await world.chat(own, 'Falcon costs 1234-5678.'))
    expect(request?.text).toContain('[redacted:pattern] costs [redacted:pattern].')
    expect(answer).toBeNull()
  })
})

describe('the setting', () => {
  itLater('of a key comes before that of its enterprise, on and off', async () => {
    const off = await world.newTenant(null)
    const on = await world.newKey(off, { capture: CAPTURE_ALL })
    await world.bodiesOf(off, await world.chat(on))
    const quiet = await world.newKey(tenant, { capture: { requests: false } })
    const unseen = await world.chat(quiet)
    const none = await world.chat(await world.newKey(off))
    // A later capture of the same front is stored after an earlier one.
    for (let again = 0; again < 4; again++) await world.bodiesOf(tenant, await world.chat(key))
    for (const [of, { id }] of [
      [tenant, unseen],
      [off, none],
    ] as const) {
      const row = await eventually(() => of.owner.expect('getEnterpriseLog', 200, { params: { id: of.id, logId: id } }))
      expect(row.json['captured']).toBe(false)
    }
  })

  it('takes effect in the next requests when it is changed', async () => {
    const of = await world.newTenant(null)
    const own = await world.newKey(of)
    await of.owner.expect('updateEnterprise', 200, { params: { id: of.id }, body: { capture: { answers: true } } })
    const stored = await world.counter('sluice_captures_stored_total')
    const asked = await eventually(async () => {
      const last = await world.chat(own)
      expect(await world.counter('sluice_captures_stored_total')).toBeGreaterThan(stored)
      return last
    })
    const { request, answer } = await world.bodiesOf(of, asked)
    expect([request, answer?.text]).toEqual([null, asked.text])
  })

  it('keeps a sample, and the same requests whoever decides', async () => {
    const of = await world.newTenant({ ...CAPTURE_ALL, sample: 0.5 })
    const own = await world.newKey(of)
    const asked = await Promise.all(Array.from({ length: 60 }, () => world.chat(own)))
    const ids = new Set(asked.map(({ id }) => id))
    const captured = await eventually(
      async () => {
        const { json } = await of.owner.expect('enterpriseLogs', 200, {
          params: { id: of.id },
          query: { limit: '100' },
        })
        const rows = json['data'] as Array<{ id: string; captured: boolean }>
        expect(rows.filter(({ id }) => ids.has(id))).toHaveLength(60)
        expect(rows.filter((row) => row.captured).length).toBeGreaterThan(10)
        return rows.filter((row) => row.captured).length
      },
      { timeoutMs: 40_000 },
    )
    expect(captured).toBeLessThan(50)
  })
})

it('writes no plain body to a disk', async () => {
  const canary = `canary-${Math.random().toString(36).slice(2)}`
  await world.bodiesOf(tenant, await world.chat(key, canary), isWhole)
  expect(filesWith(world.gateway.dataDir, canary)).toEqual([])
  expect(world.gateway.output).not.toContain(canary)
})

itLater(
  'loses nothing when the control process is killed while captures wait, and stores each once',
  async () => {
    const stored = await world.counter('sluice_captures_stored_total')
    const control = world.gateway.children().find(({ kind }) => kind === 'control')
    const before = await Promise.all(Array.from({ length: 10 }, (_, index) => world.chat(key, `before ${index}`)))
    await killChild(world.gateway, 'control', control?.pid ?? 0)
    const after = await Promise.all(Array.from({ length: 10 }, (_, index) => world.chat(key, `after ${index}`)))
    expect([...before, ...after].map(({ status }) => status)).toEqual(Array<number>(20).fill(200))
    await eventually(() => world.admin.expect('me', 200), { timeoutMs: 40_000 })
    for (const asked of [...before, ...after]) {
      const { request, answer } = await world.bodiesOf(tenant, asked, isWhole)
      expect([request?.text, answer?.text]).toEqual([asked.sent, asked.text])
    }
    expect(stored).toBeGreaterThan(0)
  },
  120_000,
)

/** The files below a directory that contain the text. */
function filesWith(directory: string, text: string): string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter((name) => {
    try {
      const path = join(directory, name)
      return statSync(path).isFile() && readFileSync(path).includes(text)
    } catch {
      // It was deleted meanwhile.
      return false
    }
  })
}
