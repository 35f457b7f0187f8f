import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import type { Answer } from '../../support/ai-calls.ts'
import {
  arrivals,
  call,
  eventsOf,
  expectChatError,
  expectMessagesError,
  expectRow,
  HELLO,
  HELLO_MESSAGES,
  jsonOf,
  steering,
  uniqueMark,
} from '../../support/ai-calls.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'

const INLINE_MAX_BYTES = 16_384
const MAX_BODY_BYTES = 3 * 1024 * 1024
const SIZES = [INLINE_MAX_BYTES, INLINE_MAX_BYTES + 1, 2 * 1024 * 1024, MAX_BODY_BYTES]

let simulator: Simulator
let gateway: TestGateway

beforeAll(async () => {
  simulator = await startSimulator()
  const baseUrl = `${simulator.origin}/v1`
  const keys = ['one', 'two'].map((name) => ({ credential: `upstream-credential-${name}` }))
  gateway = await startGateway({
    upstreams: [
      { dialect: 'openai-chat', baseUrl, models: ['m'], keys },
      { dialect: 'anthropic-messages', baseUrl, models: ['c'], keys },
    ],
    config: {
      limits: { max_body_bytes: MAX_BODY_BYTES },
      workers: { inline_max_bytes: INLINE_MAX_BYTES, threads: 2 },
    },
  })
})

afterAll(async () => {
  await gateway.stop()
  await simulator.close()
})

/** JSON of exactly `bytes` bytes: `members` and a field of words, in several scripts, that no schema knows. */
function bodyOf(bytes: number, members: Record<string, unknown>): string {
  const bare = JSON.stringify({ ...members, filling: '' })
  const word = 'some wörds 日本 "quoted" '
  const step = Buffer.byteLength(JSON.stringify(word)) - 2
  const room = bytes - Buffer.byteLength(bare)
  const filling = word.repeat(Math.floor(room / step)) + 'x'.repeat(room % step)
  return JSON.stringify({ ...members, filling })
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

const send = (path: string, body: string): Promise<Answer> => call(gateway, { path, body })

describe('takes bodies on both sides of the bound of the worker pool and passes them on byte for byte:', () => {
  it.each(SIZES)('%i bytes', async (bytes) => {
    for (const stream of [false, true]) {
      const mark = uniqueMark()
      const options = stream ? { stream, stream_options: { include_usage: true } } : {}
      const body = bodyOf(bytes, { ...HELLO, user: mark, ...options })
      expect(Buffer.byteLength(body)).toBe(bytes)
      const answer = await send('/v1/chat/completions', body)
      expect(answer.status, answer.text).toBe(200)
      // The mark may lie beyond what the simulator keeps of a body: the digest tells.
      expect(simulator.requests().map(({ bodySha256 }) => bodySha256)).toContain(sha256(body))
      await expectRow(gateway, answer, {
        status: 200,
        settlement: 'exact',
        prompt_tokens: 2,
        completion_tokens: 5,
        stream,
      })
    }
    const mark = uniqueMark()
    const body = bodyOf(bytes, { ...HELLO_MESSAGES, metadata: { user_id: mark } })
    const answer = await send('/v1/messages', body)
    expect(answer.status, answer.text).toBe(200)
    expect(arrivals(simulator, mark)).toHaveLength(1)
    expect(simulator.requests().map(({ bodySha256 }) => bodySha256)).toContain(sha256(body))
  })
})

it('asks for usage in a large stream and changes nothing else', async () => {
  const body = bodyOf(2_000_000, { ...HELLO, stream: true })
  const answer = await send('/v1/chat/completions', body)
  expect(eventsOf(answer.text).some(({ data }) => data.includes('"usage":{'))).toBe(false)
  const expected = `${body.slice(0, -1)},"stream_options":{"include_usage":true}}`
  expect(simulator.requests().map(({ bodySha256 }) => bodySha256)).toContain(sha256(expected))
})

it('sends the same large body to the next key', async () => {
  const body = bodyOf(2_000_000, { ...HELLO, nonce: uniqueMark() })
  simulator.script([{ status: 500 }])
  const answer = await send('/v1/chat/completions', body)
  expect(answer.status).toBe(200)
  const digest = sha256(body)
  expect(simulator.requests().filter(({ bodySha256 }) => bodySha256 === digest)).toHaveLength(2)
  await expectRow(gateway, answer, { status: 200, attempts: 2, settlement: 'exact' })
})

const INVALID: ReadonlyArray<readonly [name: string, members: Record<string, unknown>, param: string]> = [
  ['a bad temperature', { temperature: 3 }, '/temperature'],
  ['a bad role', { messages: [...HELLO.messages, { role: 'wizard', content: 'x' }] }, '/messages/1/role'],
  ['no messages', { messages: undefined }, '/messages'],
]

describe('names the same field of a small and of a large body:', () => {
  it.each(INVALID)('%s', async (_name, members, param) => {
    const errors: unknown[] = []
    for (const bytes of [1_000, 2_000_000]) {
      const inChat = await send('/v1/chat/completions', bodyOf(bytes, { ...HELLO, ...members }))
      expectChatError(inChat, { status: 400, type: 'invalid_request', code: 'INVALID_FIELD', param })
      errors.push({ ...(jsonOf(inChat)['error'] as object), request_id: null })
      const inMessages = await send('/v1/messages', bodyOf(bytes, { ...HELLO_MESSAGES, ...members }))
      expectMessagesError(inMessages, { status: 400, type: 'invalid_request', param })
      await expectRow(gateway, inChat, { status: 400, error_code: 'INVALID_FIELD', settlement: 'none', attempts: 0 })
    }
    expect(errors[1]).toEqual(errors[0])
  })
})

it('finds what is wrong with the JSON of a large body', async () => {
  const whole = bodyOf(2_000_000, HELLO)
  const refused = { status: 400, type: 'invalid_request' }
  expectChatError(await send('/v1/chat/completions', whole.slice(0, -1)), { ...refused, code: 'INVALID_JSON' })
  const doubled = `${whole.slice(0, -1)},"model":"x"}`
  expectChatError(await send('/v1/chat/completions', doubled), { ...refused, code: 'DUPLICATE_FIELD', param: '/model' })
  const deep = `${whole.slice(0, -1)},"x":${'['.repeat(70)}${']'.repeat(70)}}`
  expectChatError(await send('/v1/chat/completions', deep), { ...refused, code: 'JSON_TOO_DEEP' })
  const wide = `${JSON.stringify(HELLO).slice(0, -1)},"x":[${'1,'.repeat(1_000_001)}1]}`
  expectChatError(await send('/v1/chat/completions', wide), { ...refused, code: 'JSON_TOO_LARGE' })
  const broken = Buffer.from(whole)
  broken[1_000_000] = 0xff
  const encoded = await call(gateway, { path: '/v1/chat/completions', body: broken })
  expectChatError(encoded, { ...refused, code: 'INVALID_ENCODING' })
})

it('answers 413 to a body over the bound, in both dialects, and logs it', async () => {
  const over = bodyOf(MAX_BODY_BYTES + 1, HELLO)
  const inChat = await send('/v1/chat/completions', over)
  expectChatError(inChat, { status: 413, type: 'invalid_request', code: 'BODY_TOO_LARGE', message: /3145728 bytes/ })
  expectMessagesError(await send('/v1/messages', over), { status: 413, type: 'invalid_request' })
  await expectRow(gateway, inChat, { status: 413, error_code: 'BODY_TOO_LARGE', settlement: 'none', attempts: 0 })
  expect((await send('/v1/chat/completions', JSON.stringify(HELLO))).status, 'and goes on').toBe(200)
})

it('passes large answers on, whole and streamed, in both dialects', async () => {
  const LONG = 'x'.repeat(1024 * 1024)
  const whole = steering({ fault: 'long-line' })
  const inChat = await send('/v1/chat/completions', JSON.stringify({ ...HELLO, messages: whole }))
  expect(jsonOf(inChat)['choices']).toMatchObject([{ message: { content: LONG } }])
  await expectRow(gateway, inChat, { status: 200, settlement: 'exact' })
  const inMessages = await send('/v1/messages', JSON.stringify({ ...HELLO_MESSAGES, max_tokens: 2e6, messages: whole }))
  expect(jsonOf(inMessages)['content']).toMatchObject([{ text: LONG }])
  await expectRow(gateway, inMessages, { status: 200, settlement: 'exact' })

  const streamed = await send('/v1/chat/completions', JSON.stringify({ ...HELLO, messages: whole, stream: true }))
  const events = eventsOf(streamed.text)
  expect(events.some(({ data }) => data.includes(LONG))).toBe(true)
  expect(events.at(-1)?.data).toBe('[DONE]')
})

it('goes to the next key when a large answer is no JSON', async () => {
  simulator.script([{ fault: 'truncated-json', text: 'y'.repeat(500_000) }])
  const answer = await send('/v1/chat/completions', JSON.stringify(HELLO))
  expect(answer.status, answer.text).toBe(200)
  expect(jsonOf(answer)['choices']).toMatchObject([{ message: { content: 'You said: Hello there' } }])
  await expectRow(gateway, answer, { status: 200, attempts: 2, settlement: 'exact', completion_tokens: 5 })
})

it('serves many large bodies at once, each to its own sender', async () => {
  const answers = await Promise.all(
    Array.from({ length: 24 }, async (_, index) => {
      const text = `number ${index} of many`
      const members = { ...HELLO, messages: [{ role: 'user', content: text }] }
      return { text, answer: await send('/v1/chat/completions', bodyOf(200_000, members)) }
    }),
  )
  for (const { text, answer } of answers) {
    expect(jsonOf(answer)['choices']).toMatchObject([{ message: { content: `You said: ${text}` } }])
  }
})
