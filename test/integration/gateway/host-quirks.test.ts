import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { chat, messages } from '../../support/ai-calls.ts'
import type { Answer } from '../../support/ai-calls.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { RawUpstream } from '../../support/raw-upstream.ts'

const ANSWER = JSON.stringify({
  id: 'x',
  object: 'chat.completion',
  created: 1,
  model: 'up',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
})

let host: RawUpstream
let gateway: TestGateway

beforeAll(async () => {
  host = await RawUpstream.start((socket) => {
    const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${ANSWER.length}\r\n\r\n`
    socket.write(head + ANSWER)
  })
  const baseUrl = `${host.origin}/v1`
  gateway = await startGateway({
    upstreams: [
      { dialect: 'openai-chat', baseUrl, models: ['m'], more: { provider: 'mistral' } },
      { dialect: 'openai-chat', baseUrl, models: ['n'], more: { quirks: { max_tokens_field: 'max_tokens' } } },
      { dialect: 'openai-chat', baseUrl, models: ['gpt-5-*'], more: { provider: 'openai' } },
    ],
    config: { models: [{ id: 'gpt-5-nano', aliases: ['quick'] }] },
  })
})

beforeEach(() => {
  host.requests.length = 0
})

afterAll(async () => {
  await gateway.stop()
  await host.close()
})

const MORE = { user: 'u', seed: 7, max_completion_tokens: 9, stream_options: null }

function received(): Record<string, unknown> {
  return JSON.parse(host.requests.at(-1)?.body ?? '') as Record<string, unknown>
}

function dropped({ headers }: Answer): string | null {
  return headers.get('x-sluice-dropped')
}

it('speaks to a known host in its own words for clients of the same protocol', async () => {
  const answer = await chat(gateway, { ...MORE, messages: [{ role: 'developer', content: 'hi' }] })

  expect(answer.status).toBe(200)
  expect(received()).toEqual({
    model: 'm',
    messages: [{ role: 'system', content: 'hi' }],
    random_seed: 7,
    max_tokens: 9,
  })
  expect(dropped(answer)).toBe('user')
})

it('does so for clients of another protocol', async () => {
  const answer = await messages(gateway, { model: 'm', max_tokens: 9, metadata: { user_id: 'u' } })

  expect(answer.status).toBe(200)
  expect(received()).toMatchObject({ model: 'm', max_tokens: 9 })
  for (const name of ['user', 'max_completion_tokens', 'stream_options']) expect(received()).not.toHaveProperty(name)
  expect(dropped(answer)).toBe('user')
})

it('takes quirks of the file for a host that it does not know', async () => {
  const answer = await chat(gateway, { ...MORE, model: 'n' })

  expect(received()).toMatchObject({ user: 'u', seed: 7, max_tokens: 9 })
  expect(dropped(answer)).toBeNull()
})

it('serves a model by its name, that of a snapshot, or another one of the catalogue', async () => {
  for (const model of ['gpt-5-nano', 'gpt-5-nano-2025-08-07', 'quick']) {
    const answer = await chat(gateway, { model, max_tokens: 9 })

    expect(answer.status).toBe(200)
    expect(received()).toMatchObject({ model: model === 'quick' ? 'gpt-5-nano' : model, max_completion_tokens: 9 })
    expect(received()).not.toHaveProperty('max_tokens')
  }
})

it('leaves out for a model what the catalogue knows that it refuses, and says so', async () => {
  const answer = await messages(gateway, { model: 'gpt-5-nano', max_tokens: 500_000, temperature: 0 })

  expect(answer.status).toBe(200)
  expect(received()).toMatchObject({ max_completion_tokens: 128_000 })
  expect(received()).not.toHaveProperty('temperature')
  expect(dropped(answer)).toContain('temperature')
})
