import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import type { WireAnswer } from '../../support/wire-client.ts'
import { WireClient, requestText } from '../../support/wire-client.ts'

let simulator: Simulator
let gateway: TestGateway
let fronts: readonly number[]

const SEED = 20_261
const MUTATIONS = 2_000
const JSON_ERRORS = ['INVALID_JSON', 'INVALID_ENCODING', 'JSON_TOO_DEEP', 'JSON_TOO_LARGE']

const corpus = new URL('../../fixtures/corpora/json-test-suite/cases.json', import.meta.url)
const cases = (JSON.parse(readFileSync(corpus, 'utf8')) as Array<{ name: string; base64: string }>).map(
  ({ name, base64 }) => ({ name, bytes: Buffer.from(base64, 'base64') }),
)
const starting = (prefix: string): typeof cases => cases.filter(({ name }) => name.startsWith(prefix))

beforeAll(async () => {
  simulator = await startSimulator()
  gateway = await startGateway({
    upstreams: [{ dialect: 'openai-chat', baseUrl: `${simulator.origin}/v1`, models: ['m'] }],
    // Half of the bodies below are small, half go through the pool.
    config: { workers: { inline_max_bytes: 200 } },
  })
  fronts = frontPids()
})

afterAll(async () => {
  await gateway.stop()
  await simulator.close()
})

describe('the JSON test suite through HTTP', () => {
  it('refuses every n_ case with 400 on one connection that lives through all of them', async () => {
    const bodies = starting('n_').flatMap(({ bytes }) => [bytes, embedded(bytes)])
    const answers = await ask(bodies)
    expect(answers).toHaveLength(2 * 188)
    for (const [i, answer] of answers.entries()) {
      expect(answer.status, bodies[i]?.toString()).toBe(400)
      expect(JSON_ERRORS).toContain(codeOf(answer))
    }
  })

  it('reads every y_ case: alone it is no chat request, as a value it goes to the provider unchanged', async () => {
    const alone = await ask(starting('y_').map(({ bytes }) => bytes))
    for (const answer of alone) {
      expect(answer.status).toBe(400)
      expect(['INVALID_FIELD', 'DUPLICATE_FIELD']).toContain(codeOf(answer))
    }
    const since = simulator.requests().at(-1)?.n ?? 0
    const bodies = starting('y_').map(({ bytes }) => embedded(bytes))
    for (const answer of await ask(bodies)) expect(answer.status).toBe(200)
    const received = simulator.requests(since).map(({ body }) => body)
    expect(received).toEqual(bodies.map((body) => body.toString()))
  })

  it('answers every i_ case one way or the other', async () => {
    for (const answer of await ask(starting('i_').map(({ bytes }) => embedded(bytes)))) {
      if (answer.status !== 200) expect([400, ...JSON_ERRORS]).toContain(codeOf(answer))
    }
  })
})

describe('damaged requests', () => {
  it(`get an answer each and no 5xx: ${MUTATIONS} from seed ${SEED}`, async () => {
    const random = mulberry32(SEED)
    const bodies = Array.from({ length: MUTATIONS }, () => mutated(random))
    const lanes = 4
    const statuses = new Map<number, number>()
    await Promise.all(
      Array.from({ length: lanes }, async (_, lane) => {
        const mine = bodies.filter((__, i) => i % lanes === lane)
        for (const [i, { status, body }] of (await ask(mine)).entries()) {
          statuses.set(status, (statuses.get(status) ?? 0) + 1)
          expect(status, `${mine[i]?.toString('latin1')} → ${body.toString()}`).toBeLessThan(500)
        }
      }),
    )
    // Some damage does no harm, most does.
    expect(statuses.get(200)).toBeGreaterThan(10)
    expect(statuses.get(400)).toBeGreaterThan(MUTATIONS / 4)
  })

  it('bring no process down', async () => {
    expect(frontPids()).toEqual(fronts)
    const [answer] = await ask([Buffer.from(chat('still here'))])
    expect(answer?.status).toBe(200)
  })
})

describe('bombs', () => {
  const open = '{"model":"m","messages":[{"role":"user","content":"x"}],"x":'

  it.each([
    ['arrays 100 000 deep', Buffer.from('['.repeat(100_000))],
    ['closed arrays 50 000 deep', Buffer.from(`${open}${'['.repeat(50_000)}${']'.repeat(50_000)}}`)],
    ['objects 20 000 deep', Buffer.from(`${open}${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}}`)],
    ['three million empty objects', Buffer.from(`${open}[${'{},'.repeat(3_000_000)}{}]}`)],
    ['a number of a million digits', Buffer.from(`${open}${'9'.repeat(1_000_000)}}x`)],
    ['a million backslashes', Buffer.from(`${open}"${'\\'.repeat(999_999)}`)],
    ['nothing but spaces', Buffer.alloc(1_000_000, 0x20)],
    ['nothing but NUL', Buffer.alloc(1_000_000)],
    ['UTF-16', Buffer.from(chat('x'), 'utf16le')],
    ['a byte order mark', Buffer.from(`\ufeff${chat('x')}`)],
    ['half a character', Buffer.concat([Buffer.from(`${open}"`), Buffer.from([0xf0, 0x9f, 0x98]), Buffer.from('"}')])],
    ['nothing', Buffer.alloc(0)],
  ])('of %s are refused', async (_name, bytes) => {
    const [answer] = await ask([bytes])
    expect(answer?.status).toBe(400)
    expect(JSON_ERRORS).toContain(codeOf(answer))
    expect(frontPids()).toEqual(fronts)
  })

  it.each(['__proto__', 'api_base', 'base_url', 'api_key'])('do not hide in a field %s', async (name) => {
    const since = simulator.requests().at(-1)?.n ?? 0
    const body = chat('x').replace('{', `{${JSON.stringify(name)}:"http://127.0.0.1:1",`)
    const [answer] = await ask([Buffer.from(body)])
    expect([200, 400]).toContain(answer?.status)
    for (const request of simulator.requests(since)) expect(request.body).not.toContain('127.0.0.1:1')
  })
})

/** Sends the bodies one after the other on one connection. */
async function ask(bodies: readonly Buffer[]): Promise<readonly WireAnswer[]> {
  const client = await WireClient.connect(gateway.port)
  const answers: WireAnswer[] = []
  for (const body of bodies) {
    const headers = ['Host: a', `Authorization: Bearer ${gateway.apiKey}`, `Content-Length: ${body.length}`]
    client.send(requestText('POST /v1/chat/completions HTTP/1.1', headers)).send(body)
    const [answer] = await client.waitFor(1)
    if (answer === undefined) throw new Error('no answer')
    answers.push(answer)
    client.forget()
  }
  expect(client.closed).toBe(false)
  client.close()
  return answers
}

function chat(content: string): string {
  return JSON.stringify({ model: 'm', messages: [{ role: 'user', content }] })
}

function embedded(value: Buffer): Buffer {
  const before = '{"model":"m","messages":[{"role":"user","content":"x"}],"x":'
  return Buffer.concat([Buffer.from(before), value, Buffer.from('}')])
}

function codeOf(answer: WireAnswer | undefined): string {
  return (JSON.parse(answer?.body.toString() ?? '') as { error: { code: string } }).error.code
}

function frontPids(): readonly number[] {
  return gateway
    .children()
    .filter(({ kind }) => kind === 'front')
    .map(({ pid }) => pid)
}

const SUBJECTS = [
  chat('hello'),
  '{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"\\u00e4\\ud83d\\ude00 é"}]}],"n":1,"user":"u"}',
  '{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":"x"}],"temperature":1.5e0,"stop":["a"]}',
]
const SNIPPETS = [
  '"',
  '\\',
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  'null',
  '\\u',
  '\\ud800',
  '1e999',
  '-',
  '\x00',
  '\xff',
  '\xed\xa0\x80',
  '//',
  '"model":1,',
]

/** One to four damages: bytes flipped, cut, doubled, or put in. */
function mutated(random: () => number): Buffer {
  const pick = (below: number): number => Math.floor(random() * below)
  let bytes = Buffer.from(SUBJECTS[pick(SUBJECTS.length)] ?? '')
  for (let damages = 1 + pick(4); damages > 0; damages--) {
    const at = pick(bytes.length + 1)
    const to = Math.min(bytes.length, at + pick(12))
    const [before, middle, after] = [bytes.subarray(0, at), bytes.subarray(at, to), bytes.subarray(to)]
    switch (pick(4)) {
      case 0:
        bytes = Buffer.concat([before, after])
        break
      case 1:
        bytes = Buffer.concat([before, middle, middle, after])
        break
      case 2:
        bytes = Buffer.concat([before, Buffer.from(SNIPPETS[pick(SNIPPETS.length)] ?? '', 'latin1'), middle, after])
        break
      default:
        bytes = Buffer.concat([before, Buffer.from(middle.map((byte) => byte ^ (1 << pick(8)))), after])
    }
  }
  return bytes
}

function mulberry32(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
