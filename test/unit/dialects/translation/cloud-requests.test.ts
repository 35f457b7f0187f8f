import { describe, expect, it } from 'vitest'
import type { BuiltRequest, Target } from '../../../../src/shared/core/codec.ts'
import type { Conversation, WireDialect } from '../../../../src/shared/core/conversation.ts'
import { GatewayError } from '../../../../src/shared/core/errors.ts'
import { clientCodec, upstreamCodec } from '../../../../src/dialects/codecs.ts'
import { cloudBetas } from '../../../../src/dialects/anthropic-messages/cloud-betas.ts'
import { readInvokePrompt } from '../../../../src/simulator/bedrock-invoke.ts'
import type { RequestHead } from '../../../../src/simulator/http-head.ts'
import { readVertexPrompt } from '../../../../src/simulator/vertex-messages.ts'
import { readConversePrompt } from '../../../../src/simulator/converse-prompt.ts'
import { readCoherePrompt } from '../../../../src/simulator/cohere-chat.ts'
import type { Json } from '../../../support/plain-json.ts'
import { REPLACED_REQUESTS } from '../../../support/replay-cases.ts'
import { loadFixtures } from '../../../support/recorded-fixtures.ts'

const CLAUDE = 'us.anthropic.claude-haiku-4-5-20251001-v1:0'
/** As a coding agent sets them. */
const BETAS = ['claude-code-20250219', 'interleaved-thinking-2025-05-14', 'fine-grained-tool-streaming-2025-05-14']
const VERTEX_HEAD = {
  method: 'POST',
  path: '/',
  query: '',
  headers: { authorization: 'Bearer token', 'anthropic-beta': cloudBetas(BETAS).join(',') },
} as unknown as RequestHead
const REQUESTS = loadFixtures(
  ({ request, operation, kind }) => request !== null && operation === null && kind !== 'error',
)

function built(conversation: Conversation, dialect: WireDialect, more: Partial<Target>): BuiltRequest | GatewayError {
  const codec = upstreamCodec(dialect)
  try {
    return codec.buildRequest(conversation, { ...codec.defaultTarget, takesPrefill: true, ...more })
  } catch (cause) {
    if (cause instanceof GatewayError) return cause
    throw cause
  }
}

/** The texts of the user and the assistant that must not get lost. */
function textsOf({ messages }: Conversation): string[] {
  return messages
    .filter(({ role }) => role === 'user' || role === 'assistant')
    .flatMap(({ content }) => content.flatMap((block) => (block.type === 'text' ? [block.text] : [])))
    .map((text) => text.trim())
    .filter((text) => text !== '')
}

function callNamesOf({ messages }: Conversation): string[] {
  return messages.flatMap(({ content }) => content.flatMap((block) => (block.type === 'tool-call' ? [block.name] : [])))
}

function refused(seen: Map<string, number>, error: GatewayError): void {
  expect(error.code).toBe('UNSUPPORTED_FIELD')
  expect(error.param).toMatch(/^\//)
  seen.set(error.param ?? '', (seen.get(error.param ?? '') ?? 0) + 1)
}

describe('recorded requests of clients', () => {
  it.each(['openai-chat', 'anthropic-messages'] as const)('of %s become what Converse takes', (client) => {
    const left = new Map<string, number>()
    let cases = 0
    let calls = 0
    for (const fixture of REQUESTS.filter(({ protocol }) => protocol === client)) {
      const conversation = clientCodec(client).parseRequest(JSON.parse(String(fixture.request)))
      const result = built(conversation, 'bedrock-converse', { model: CLAUDE })
      if (result instanceof GatewayError) {
        refused(left, result)
        continue
      }
      const body: Json = result.body
      expect(() => readConversePrompt(body, { model: CLAUDE, stream: false }), fixture.id).not.toThrow()
      const said = JSON.stringify(body.messages)
      for (const text of textsOf(conversation)) expect(said, fixture.id).toContain(JSON.stringify(text).slice(1, -1))
      const used = body.messages.flatMap((message: Json) => message.content.filter((block: Json) => block.toolUse))
      expect(
        used.map((block: Json) => block.toolUse.name),
        fixture.id,
      ).toEqual(callNamesOf(conversation))
      for (const block of used) expect(block.toolUse.input, fixture.id).toBeTypeOf('object')
      cases++
      calls += used.length
    }
    expect(cases).toBeGreaterThan(100)
    expect(calls).toBeGreaterThan(20)
    console.log(`${client} → Converse: ${cases} requests, ${calls} calls; refused:`, Object.fromEntries(left))
  })

  const CLOUDS = ['bedrock-invoke', 'anthropic-vertex'] as const
  const pairs = CLOUDS.flatMap((cloud) =>
    (['openai-chat', 'anthropic-messages'] as const).map((c) => [c, cloud] as const),
  )

  it.each(pairs)('of %s become messages that %s takes', (client, cloud) => {
    const left = new Map<string, number>()
    let cases = 0
    let calls = 0
    for (const fixture of REQUESTS.filter(({ protocol }) => protocol === client)) {
      const conversation = clientCodec(client).parseRequest(JSON.parse(String(fixture.request)))
      const result = built(conversation, cloud, { model: CLAUDE, stream: conversation.stream, betas: BETAS })
      if (result instanceof GatewayError) {
        refused(left, result)
        continue
      }
      const body: Json = JSON.parse(JSON.stringify(result.body))
      const route = { model: CLAUDE, stream: conversation.stream }
      if (fixture.id in REPLACED_REQUESTS) {
        left.set(REPLACED_REQUESTS[fixture.id] ?? '', 1)
        continue
      }
      if (cloud === 'bedrock-invoke') expect(() => readInvokePrompt(body, route), fixture.id).not.toThrow()
      else expect(() => readVertexPrompt(body, route, VERTEX_HEAD), fixture.id).not.toThrow()
      const said = JSON.stringify(body.messages)
      for (const text of textsOf(conversation)) expect(said, fixture.id).toContain(JSON.stringify(text).slice(1, -1))
      const used = body.messages
        .flatMap(({ content }: Json) => (Array.isArray(content) ? content : []))
        .filter((block: Json) => block.type === 'tool_use')
      expect(
        used.map((block: Json) => block.name),
        fixture.id,
      ).toEqual(callNamesOf(conversation))
      cases++
      calls += used.length
    }
    expect(cases).toBeGreaterThan(100)
    expect(calls).toBeGreaterThan(20)
    console.log(`${client} → ${cloud}: ${cases} requests, ${calls} calls; refused:`, Object.fromEntries(left))
  })

  it.each(['openai-chat', 'anthropic-messages'] as const)('of %s become what Cohere takes', (client) => {
    const left = new Map<string, number>()
    let cases = 0
    let calls = 0
    for (const fixture of REQUESTS.filter(({ protocol }) => protocol === client)) {
      const conversation = clientCodec(client).parseRequest(JSON.parse(String(fixture.request)))
      const result = built(conversation, 'cohere-chat', { model: 'command-a-03-2025' })
      if (result instanceof GatewayError) {
        refused(left, result)
        continue
      }
      const body: Json = result.body
      expect(() => readCoherePrompt(body), fixture.id).not.toThrow()
      const said = JSON.stringify(body.messages)
      for (const text of textsOf(conversation)) expect(said, fixture.id).toContain(JSON.stringify(text).slice(1, -1))
      let open: string[] = []
      const names: string[] = []
      for (const message of body.messages as Json[]) {
        if (message.role === 'tool') {
          expect(open, fixture.id).toContain(message.tool_call_id)
          open = open.filter((id) => id !== message.tool_call_id)
          continue
        }
        expect(open, fixture.id).toEqual([])
        open = (message.tool_calls ?? []).map((call: Json) => call.id)
        for (const call of message.tool_calls ?? []) {
          names.push(call.function.name)
          expect(JSON.parse(call.function.arguments), fixture.id).toBeTypeOf('object')
        }
      }
      expect(open, fixture.id).toEqual([])
      expect(names, fixture.id).toEqual(callNamesOf(conversation))
      cases++
      calls += names.length
    }
    expect(cases).toBeGreaterThan(100)
    expect(calls).toBeGreaterThan(20)
    console.log(`${client} → Cohere: ${cases} requests, ${calls} calls; refused:`, Object.fromEntries(left))
  })
})
