import { describe, expect, it } from 'vitest'
import { GatewayError } from '../../../../src/shared/core/errors.ts'
import { loadFixtures } from '../../../support/recorded-fixtures.ts'
import type { Json } from '../../../support/plain-json.ts'
import { checkChatGrammar, checkMessagesGrammar, textOfRequest } from '../../../support/request-grammar.ts'
import { chatToMessages, messagesToChat } from '../../../support/translation.ts'

function requestsOf(protocol: 'openai-chat' | 'anthropic-messages'): { id: string; request: Json }[] {
  return loadFixtures((fixture) => fixture.protocol === protocol && fixture.hasRequest)
    .map(({ id, request }) => ({ id, request: JSON.parse((request ?? '').toString('utf8')) }))
    .filter(({ request }) => Array.isArray(request.messages) && request.messages.length > 0)
}

/** What becomes of each request: a body, or the field that was refused. */
function translateAll(
  requests: readonly { id: string; request: Json }[],
  translate: (request: Json) => Json,
  check: (id: string, request: Json, body: Json) => void,
): { translated: number; calls: number; refused: Record<string, number> } {
  const refused: Record<string, number> = {}
  let translated = 0
  let calls = 0
  for (const { id, request } of requests) {
    let body: Json
    try {
      body = translate(request)
    } catch (cause) {
      if (!(cause instanceof GatewayError) || cause.code !== 'UNSUPPORTED_FIELD') throw cause
      refused[cause.param ?? ''] = (refused[cause.param ?? ''] ?? 0) + 1
      continue
    }
    check(id, request, body)
    translated++
    calls += JSON.stringify(body).split('"tool_use"').length - 1 + JSON.stringify(body).split('"tool_calls"').length - 1
  }
  return { translated, calls, refused }
}

describe('recorded requests, translated', () => {
  it('reach a messages upstream in an order and with content that it takes', () => {
    const requests = requestsOf('openai-chat')
    const outcome = translateAll(
      requests,
      (request) => chatToMessages(request, { takesPrefill: true }),
      (id, request, body) => {
        // One recording asks for -1 tokens, and was refused.
        if (request.max_tokens < 1) return
        expect(() => checkMessagesGrammar(body), id).not.toThrow()
        const { system, messages } = body
        const texts = textOfRequest({ system, messages }).replaceAll(/<\/?system>|Thetoolwasnotrun\./g, '')
        const expected = textOfRequest(request)
        if (body.system?.at(-1)?.text.startsWith('Answer with one JSON object')) return
        expect(sameLetters(texts, expected), id).toBe(true)
        expect(body.tools?.length ?? 0, id).toBe(functionsOf(request))
      },
    )
    console.log(`chat → messages: ${outcome.translated} of ${requests.length} requests, refused:`, outcome.refused)
    expect(outcome.translated).toBeGreaterThan(290)
    expect(outcome.calls).toBeGreaterThan(80)
  })

  it('reach a chat upstream in an order and with content that it takes', () => {
    const requests = requestsOf('anthropic-messages')
    const outcome = translateAll(
      requests,
      (request) => messagesToChat(request),
      (id, _request, body) => {
        expect(() => checkChatGrammar(body), id).not.toThrow()
      },
    )
    console.log(`messages → chat: ${outcome.translated} of ${requests.length} requests, refused:`, outcome.refused)
    expect(outcome.translated).toBeGreaterThan(110)
    expect(outcome.calls).toBeGreaterThan(20)
  })

  it('come back from the other dialect with the same texts, calls and tools', () => {
    let compared = 0
    for (const { id, request } of requestsOf('openai-chat')) {
      let there: Json
      try {
        there = chatToMessages(request, { takesPrefill: true, takesSystemAnywhere: true })
      } catch {
        continue
      }
      const back = messagesToChat({ ...there, model: 'm' })
      expect(() => checkChatGrammar(back), id).not.toThrow()
      expect(callsOf(back), id).toEqual(callsOf(chatThere(there)))
      expect((back.tools ?? []).length, id).toBe(functionsOf(request))
      compared++
    }
    console.log(`chat → messages → chat: ${compared} requests`)
    expect(compared).toBeGreaterThan(290)
  })
})

function functionsOf({ tools, functions }: Json): number {
  const known = [...(tools ?? [])].filter(
    (tool: Json) => (tool.type ?? 'function') === 'function' || tool.type === 'custom',
  )
  return known.length + (functions?.length ?? 0)
}

/** Results of tools may have been moved, and a turn that says `.` put first; nothing else may have come or gone. */
function sameLetters(one: string, other: string): boolean {
  const [letters, expected] = [one, other].map((text) => [...text.replaceAll('.', '')].sort().join(''))
  return letters === expected
}

function callsOf({ messages }: Json): Json[] {
  return messages.flatMap((message: Json) =>
    (message.tool_calls ?? []).map((call: Json) => [
      call.id,
      call.function.name,
      JSON.parse(call.function.arguments as string),
    ]),
  )
}

/** The calls of a messages body in the shape that `callsOf` reads. */
function chatThere({ messages }: Json): Json {
  return {
    messages: messages.map((message: Json) => ({
      tool_calls: message.content
        .filter((block: Json) => block.type === 'tool_use')
        .map((block: Json) => ({
          id: block.id,
          function: { name: block.name, arguments: JSON.stringify(block.input) },
        })),
    })),
  }
}
