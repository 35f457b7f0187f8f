import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import type { LanguageModel, ModelMessage } from 'ai'
import { generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { FORM_NAMES, upstreamsOfAllForms } from '../../support/upstream-forms.ts'

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

let simulator: Simulator
let gateway: TestGateway

beforeAll(async () => {
  simulator = await startSimulator()
  gateway = await startGateway({ upstreams: upstreamsOfAllForms(simulator.origin) })
})

afterAll(async () => {
  await gateway.stop()
  await simulator.close()
})

const CLIENTS: Readonly<Record<string, (model: string) => LanguageModel>> = {
  'openai chat': (model) => createOpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.apiKey }).chat(model),
  'openai responses': (model) =>
    createOpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.apiKey }).responses(model),
  anthropic: (model) => createAnthropic({ baseURL: `${gateway.url}/v1`, apiKey: gateway.apiKey })(model),
}

const messages: ModelMessage[] = [
  {
    role: 'user',
    content: [
      { type: 'image', image: PIXEL, mediaType: 'image/png' },
      { type: 'text', text: 'use get_weather' },
    ],
  },
]

describe.each(Object.keys(CLIENTS))('the ai package over %s', (client) => {
  const asked: unknown[] = []
  const tools = {
    get_weather: tool({
      inputSchema: jsonSchema<{ city: string }>({
        type: 'object',
        properties: { city: { type: 'string' } },
        required: ['city'],
        additionalProperties: false,
      }),
      execute: (input) => {
        asked.push(input)
        return Promise.resolve('sunny')
      },
    }),
  }
  const request = (upstream: string) => ({
    model: CLIENTS[client]?.(upstream) as LanguageModel,
    system: 'Be brief.',
    messages,
    tools,
    stopWhen: stepCountIs(2),
    maxRetries: 0,
    // Where it stores nothing it sends items back whole.
    providerOptions: { openai: { store: false } },
  })

  it.each(FORM_NAMES)('looks at a picture, calls a tool and answers, through %s', async (upstream) => {
    asked.length = 0
    const result = await generateText(request(upstream))
    expect(asked).toEqual([{ city: 'example' }])
    expect(result.steps.map(({ finishReason }) => finishReason)).toEqual(['tool-calls', 'stop'])
    expect(result.text).toContain('sunny')
    expect(result.totalUsage.outputTokens).toBeGreaterThan(0)
  })

  it.each(FORM_NAMES)('the same, streamed, through %s', async (upstream) => {
    asked.length = 0
    const errors: unknown[] = []
    const result = streamText({ ...request(upstream), onError: ({ error }) => void errors.push(error) })
    let text = ''
    for await (const piece of result.textStream) text += piece
    expect(errors).toEqual([])
    expect(asked).toEqual([{ city: 'example' }])
    expect(text).toContain('sunny')
    expect(await result.finishReason).toBe('stop')
  })
})
