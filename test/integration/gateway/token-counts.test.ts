import Anthropic from '@anthropic-ai/sdk'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { call, chat, expectMessagesError, expectRow, steering } from '../../support/ai-calls.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'

const TEXT = 'The quick brown fox jumps over the lazy dog. '
const asked = (text: string): [{ role: 'user'; content: string }] => [{ role: 'user', content: text }]

let simulator: Simulator
let gateway: TestGateway
let anthropic: Anthropic

beforeAll(async () => {
  simulator = await startSimulator()
  const baseUrl = `${simulator.origin}/v1`
  const deepseek = [{ id: 'deep', upstream_model: 'deepseek-chat' }] as unknown as string[]
  gateway = await startGateway({
    upstreams: [
      { dialect: 'openai-chat', baseUrl, models: ['gpt-4o', ...deepseek] },
      { dialect: 'anthropic-messages', baseUrl, models: ['c'] },
    ],
  })
  anthropic = new Anthropic({ apiKey: gateway.apiKey, baseURL: gateway.url, maxRetries: 0 })
})

afterAll(async () => {
  await gateway.stop()
  await simulator.close()
})

describe('a model that no upstream of the messages protocol has', () => {
  it('has its prompts counted by the gateway, as its family counts, and books nothing', async () => {
    const { data, request_id } = await anthropic.messages
      .countTokens({ model: 'gpt-4o', messages: asked(TEXT.repeat(100)) })
      .withResponse()
    // Ten tokens a sentence, and what gpt-4o puts around one message.
    expect(data).toEqual({ input_tokens: 1_000 + 8 })
    await expectRow(
      gateway,
      { id: request_id ?? '' },
      { status: 200, endpoint: 'messages.count_tokens', settlement: 'none', prompt_tokens: 0, attempts: 0 },
    )
  })

  it('counts system, tools and turns, by the name that the upstream knows the model by', async () => {
    const request = { messages: asked('Hello'), system: 'Be brief' }
    const tools = [{ name: 'get_weather', input_schema: { type: 'object' as const } }]
    const count = async (model: string, members: object = {}): Promise<number> =>
      (await anthropic.messages.countTokens({ model, ...request, ...members })).input_tokens
    const plain = await count('deep')
    expect(plain).toBeLessThan(20)
    // The family explains tools at length.
    expect(await count('deep', { tools })).toBeGreaterThan(plain + 200)
    expect(await count('gpt-4o', { tools })).toBeLessThan(plain + 60)
  })

  it('has bodies of any size counted within bounds', async () => {
    const text = TEXT.repeat(60_000)
    const { input_tokens } = await anthropic.messages.countTokens({ model: 'gpt-4o', messages: asked(text) })
    expect(input_tokens).toBeGreaterThan(600_000 * 0.98)
    expect(input_tokens).toBeLessThan(600_000 * 1.02)
  })
})

it('asks the upstream to count where one can', async () => {
  expect(await anthropic.messages.countTokens({ model: 'c', messages: asked('Hello there') })).toEqual({
    input_tokens: 2,
  })
})

it('still does not know a model that nobody has', async () => {
  const body = { model: 'nobody', messages: asked('Hello') }
  const answer = await call(gateway, { path: '/v1/messages/count_tokens', body })
  expectMessagesError(answer, { status: 404, type: 'invalid_request', param: '/model' })
})

describe('an answer whose upstream reports no usage', () => {
  // 500 tokens, the directions for the simulator, and what is around a message.
  const messages = steering({ usage: 'absent', text: TEXT.repeat(20) }, TEXT.repeat(50))

  // On a busy machine a count may come too late for one answer, and its estimate stands.
  it('is booked with a counted prompt and a counted answer when it is whole', async () => {
    await eventually(async () => {
      const answer = await chat(gateway, { model: 'gpt-4o', messages })
      const row = await expectRow(gateway, answer, { status: 200, settlement: 'observed', completion_tokens: 202 })
      expect(row.prompt_tokens).toBeGreaterThan(700)
      expect(row.prompt_tokens).toBeLessThan(760)
    })
  })

  it('is booked with a counted prompt and an answer by its bytes when it is streamed', async () => {
    await eventually(async () => {
      const answer = await chat(gateway, { model: 'gpt-4o', stream: true, messages })
      const row = await expectRow(gateway, answer, { status: 200, settlement: 'observed' })
      expect(row.prompt_tokens).toBeGreaterThan(700)
      expect(row.prompt_tokens).toBeLessThan(760)
      expect(row.completion_tokens).toBe(Math.ceil((20 * TEXT.length) / 4.1))
    })
  })
})
