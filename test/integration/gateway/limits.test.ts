import { afterAll, beforeAll, expect, it } from 'vitest'
import { generateApiKey } from '../../../src/shared/core/api-key.ts'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import type { Answer } from '../../support/ai-calls.ts'
import {
  arrivals,
  call,
  chat,
  expectChatError,
  expectMessagesError,
  expectRow,
  messages,
  steering,
  uniqueMark,
} from '../../support/ai-calls.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'

const WINDOW_SECONDS = 61

interface LimitedKey {
  readonly key: string
  readonly headers: { readonly authorization: string }
  readonly entry: Record<string, unknown>
}

const limited = (name: string, limits: Record<string, number>): LimitedKey => {
  const key = generateApiKey()
  return { key, headers: { authorization: `Bearer ${key}` }, entry: { name, key, ...limits } }
}

const KEYS = {
  threeRequests: limited('three requests', { rpm: 3 }),
  twoMessages: limited('two messages', { rpm: 2 }),
  mixed: limited('mixed', { rpm: 4 }),
  tokens: limited('tokens', { tpm: 1_000 }),
  streamedTokens: limited('streamed tokens', { tpm: 1_000 }),
  smallTokens: limited('small tokens', { tpm: 100 }),
  countedTokens: limited('counted tokens', { tpm: 50 }),
  failedTokens: limited('failed tokens', { tpm: 1_000 }),
  twoAtATime: limited('two at a time', { max_concurrency: 2 }),
  burst: limited('burst', { rpm: 10 }),
}

let simulator: Simulator
let gateway: TestGateway

beforeAll(async () => {
  simulator = await startSimulator()
  const baseUrl = `${simulator.origin}/v1`
  gateway = await startGateway({
    upstreams: [
      { dialect: 'openai-chat', baseUrl, models: ['m'] },
      { dialect: 'anthropic-messages', baseUrl, models: ['c'] },
    ],
    keys: Object.values(KEYS).map(({ entry }) => entry),
  })
})

afterAll(async () => {
  await gateway.stop()
  await simulator.close()
})

function header(answer: Answer, name: string): number {
  return Number(answer.headers.get(name) ?? Number.NaN)
}

/** The wait is that of the window: about a minute after the first request, never more. */
function expectWindowWait(answer: Answer, reset: 'requests' | 'tokens'): void {
  const wait = header(answer, 'retry-after')
  expect(wait).toBeGreaterThan(0)
  expect(wait).toBeLessThanOrEqual(WINDOW_SECONDS)
  expect(header(answer, `x-ratelimit-reset-${reset}`)).toBeGreaterThanOrEqual(wait - 1)
}

it('lets in as many requests as a minute has and refuses the next, which reaches no upstream', async () => {
  const { headers } = KEYS.threeRequests
  const mark = uniqueMark()
  for (const remaining of [2, 1, 0]) {
    const answer = await chat(gateway, { user: mark }, headers)
    expect(answer.status).toBe(200)
    expect(header(answer, 'x-ratelimit-limit-requests')).toBe(3)
    expect(header(answer, 'x-ratelimit-remaining-requests')).toBe(remaining)
  }
  const refused = await chat(gateway, { user: mark }, headers)
  expectChatError(refused, { status: 429, type: 'rate_limit', code: 'RPM_EXCEEDED', message: /key.*3 requests.*\d+ s/ })
  expect(header(refused, 'x-ratelimit-limit-requests')).toBe(3)
  expect(header(refused, 'x-ratelimit-remaining-requests')).toBe(0)
  expectWindowWait(refused, 'requests')
  expect(arrivals(simulator, mark)).toHaveLength(3)
  await expectRow(gateway, refused, {
    status: 429,
    error_type: 'rate_limit',
    error_code: 'RPM_EXCEEDED',
    settlement: 'none',
    attempts: 0,
    prompt_tokens: 0,
    completion_tokens: 0,
  })
})

it('refuses in the shape of the messages dialect', async () => {
  const { headers } = KEYS.twoMessages
  for (let i = 0; i < 2; i++) expect((await messages(gateway, {}, headers)).status).toBe(200)
  const refused = await messages(gateway, {}, headers)
  expectMessagesError(refused, { status: 429, type: 'rate_limit', message: /key/ })
  expectWindowWait(refused, 'requests')
})

it('counts requests of every AI endpoint and of both dialects together', async () => {
  const { headers } = KEYS.mixed
  expect((await chat(gateway, {}, headers)).status).toBe(200)
  expect((await messages(gateway, {}, headers)).status).toBe(200)
  expect((await call(gateway, { path: '/v1/models', headers })).status).toBe(200)
  expect((await call(gateway, { path: '/v1/models/m', headers })).status).toBe(200)
  const refused = await call(gateway, { path: '/v1/models', headers })
  expectChatError(refused, { status: 429, type: 'rate_limit', code: 'RPM_EXCEEDED' })
})

it('admits exactly the limit of a burst that comes at once', async () => {
  const { headers } = KEYS.burst
  const answers = await Promise.all(Array.from({ length: 30 }, () => chat(gateway, {}, headers)))
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(10)
  const refused = answers.filter(({ status }) => status === 429)
  expect(refused).toHaveLength(20)
  for (const answer of refused) expectChatError(answer, { status: 429, type: 'rate_limit', code: 'RPM_EXCEEDED' })
})

it('reserves the tokens a request may use, then books those it did use', async () => {
  const { headers } = KEYS.tokens
  const first = await chat(gateway, { max_tokens: 900 }, headers)
  expect(first.status).toBe(200)
  expect(header(first, 'x-ratelimit-limit-tokens')).toBe(1_000)
  // 2 of the prompt and 5 of the answer.
  expect(header(first, 'x-ratelimit-remaining-tokens')).toBe(993)

  const refused = await chat(gateway, { max_tokens: 995 }, headers)
  expectChatError(refused, { status: 429, type: 'rate_limit', code: 'TPM_EXCEEDED', message: /key.*1000 tokens/ })
  expect(header(refused, 'x-ratelimit-remaining-tokens')).toBe(993)
  expectWindowWait(refused, 'tokens')
  await expectRow(gateway, refused, {
    status: 429,
    error_code: 'TPM_EXCEEDED',
    model: 'm',
    settlement: 'none',
    prompt_tokens: 0,
    attempts: 0,
  })
  expect((await chat(gateway, { max_tokens: 900 }, headers)).status).toBe(200)
})

it('holds what running streams may use and gives back what they did not', async () => {
  const { headers } = KEYS.streamedTokens
  const mark = uniqueMark()
  const hangUp = new AbortController()
  const body = {
    model: 'm',
    max_tokens: 600,
    user: mark,
    stream: true,
    messages: steering({ fault: 'hang-before-headers' }),
  }
  const held = call(gateway, { path: '/v1/chat/completions', body, headers, signal: hangUp.signal }).catch(() => null)
  await eventually(() => {
    expect(arrivals(simulator, mark)).toHaveLength(1)
  })
  const refused = await chat(gateway, { max_tokens: 600, stream: true }, headers)
  expectChatError(refused, { status: 429, type: 'rate_limit', code: 'TPM_EXCEEDED' })
  expect(header(refused, 'x-ratelimit-remaining-tokens')).toBeLessThanOrEqual(400)

  hangUp.abort()
  await held
  await eventually(async () => {
    expect((await chat(gateway, { max_tokens: 600, stream: true }, headers)).status).toBe(200)
  })
})

it('charges no tokens for a request that failed at its upstream', async () => {
  const { headers } = KEYS.failedTokens
  const failed = await chat(gateway, { max_tokens: 900, messages: steering({ status: 400 }) }, headers)
  expect(failed.status).toBe(400)
  expect(header(failed, 'x-ratelimit-remaining-tokens')).toBe(1_000)
})

it('admits a request that may use more than a minute has only into an empty minute', async () => {
  const { headers } = KEYS.smallTokens
  expect((await chat(gateway, { max_tokens: 5_000 }, headers)).status).toBe(200)
  expectChatError(await chat(gateway, { max_tokens: 5_000 }, headers), {
    status: 429,
    type: 'rate_limit',
    code: 'TPM_EXCEEDED',
  })
})

it('charges no tokens for counting tokens', async () => {
  const { headers } = KEYS.countedTokens
  const body = { model: 'c', messages: [{ role: 'user', content: 'word '.repeat(500) }] }
  const answer = await call(gateway, { path: '/v1/messages/count_tokens', body, headers })
  expect(answer.status).toBe(200)
  expect(header(answer, 'x-ratelimit-remaining-tokens')).toBe(50)
})

it('runs as many requests of a key at a time as it may, and the next when one is over', async () => {
  const { headers } = KEYS.twoAtATime
  const hold = async (): Promise<AbortController> => {
    const hangUp = new AbortController()
    const mark = uniqueMark()
    const body = { model: 'm', user: mark, messages: steering({ fault: 'hang-before-headers' }) }
    call(gateway, { path: '/v1/chat/completions', body, headers, signal: hangUp.signal }).catch(() => null)
    await eventually(() => {
      expect(arrivals(simulator, mark)).toHaveLength(1)
    })
    return hangUp
  }
  const first = await hold()
  const second = await hold()

  const refused = await chat(gateway, {}, headers)
  expectChatError(refused, {
    status: 429,
    type: 'rate_limit',
    code: 'CONCURRENCY_EXCEEDED',
    message: /key.*2 requests/,
  })
  expectMessagesError(await messages(gateway, {}, headers), { status: 429, type: 'rate_limit' })
  await expectRow(gateway, refused, { status: 429, error_code: 'CONCURRENCY_EXCEEDED', settlement: 'none' })
  expect((await chat(gateway)).status, 'another key is not concerned').toBe(200)

  first.abort()
  await eventually(async () => {
    expect((await chat(gateway, {}, headers)).status).toBe(200)
  })
  second.abort()
})
