import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { ScriptedServer } from '../../support/scripted-server.ts'
import { SIGNED_SCENES, SIGNED_TURNS, assistantTurns } from '../../support/signed-turns.ts'

let upstream: ScriptedServer
let gateway: TestGateway

beforeAll(async () => {
  upstream = await ScriptedServer.start()
  gateway = await startGateway({
    upstreams: [{ dialect: 'anthropic-messages', baseUrl: upstream.url, models: ['thinker'] }],
  })
})

afterAll(async () => {
  await gateway.stop()
  await upstream.close()
})

describe('signed thinking in the tool loop of a chat client', () => {
  const tools = [{ type: 'function' as const, function: { name: 'get_weather', parameters: { type: 'object' } } }]

  it.each(['stream', 'whole'])('comes back to the upstream as it was (%s, SDK for Node)', async (form) => {
    upstream.script(...SIGNED_SCENES)
    const openai = new OpenAI({ apiKey: gateway.apiKey, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'Rome and Paris?' }]
    const request = { model: 'thinker', messages, tools, reasoning_effort: 'high' as const }
    for (;;) {
      const { choices } =
        form === 'stream'
          ? await openai.chat.completions.stream(request).finalChatCompletion()
          : await openai.chat.completions.create(request)
      const message = choices[0]?.message
      if (message === undefined) throw new Error('an answer without a message')
      messages.push(message)
      if (message.tool_calls === undefined) {
        expect(message.content).toBe('Both are sunny.')
        break
      }
      for (const call of message.tool_calls) messages.push({ role: 'tool', tool_call_id: call.id, content: 'sunny' })
    }
    expect(upstream.received).toHaveLength(3)
    expect(assistantTurns(upstream.received[1]?.body ?? '')).toEqual(SIGNED_TURNS.slice(0, 1))
    expect(assistantTurns(upstream.received[2]?.body ?? '')).toEqual(SIGNED_TURNS)
  })
})
