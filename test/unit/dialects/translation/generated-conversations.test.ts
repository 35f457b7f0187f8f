import { describe, expect, it } from 'vitest'
import fc from '../../../support/fast-check.ts'
import type { Json } from '../../../support/plain-json.ts'
import { checkChatGrammar, checkMessagesGrammar } from '../../../support/request-grammar.ts'
import {
  OPTIONS,
  chatStream,
  chatToMessages,
  collect,
  answerOf,
  decodeStream,
  encodeStream,
  messagesToChat,
  translateRequest,
} from '../../../support/translation.ts'
import { readMessagesStream } from '../../../support/stream-grammar.ts'
import { cutAt } from '../../wire/sse-oracle.ts'

const text = fc.oneof(
  fc.string({ minLength: 1, unit: 'grapheme' }),
  fc.constantFrom('"', '\\', '\u2028', '😀', '{"a":1}'),
)
const spoken = text.filter((value) => value.trim() !== '')
const id = fc.stringMatching(/^[A-Za-z0-9_-]{1,20}$/)
const name = fc.constantFrom('look', 'get_weather', 'f-1')
const input = fc.dictionary(fc.stringMatching(/^[a-z]{1,5}$/), fc.oneof(text, fc.integer(), fc.boolean()), {
  maxKeys: 3,
})

/** A turn of the user, then one of the assistant, with results for all of its calls. */
const exchange = fc.record({
  asks: spoken,
  image: fc.boolean(),
  says: fc.option(spoken),
  calls: fc.uniqueArray(fc.record({ id, name, input, result: spoken }), { maxLength: 3, selector: (call) => call.id }),
})
const conversation = fc.record({
  system: fc.option(spoken),
  exchanges: fc.array(exchange, { minLength: 1, maxLength: 4 }),
  last: spoken,
})
type Generated = typeof conversation extends fc.Arbitrary<infer Value> ? Value : never

const IMAGE = 'iVBORw0KGgo='

function asChat({ system, exchanges, last }: Generated): Json {
  const messages: Json[] = system === null ? [] : [{ role: 'system', content: system }]
  exchanges.forEach(({ asks, image, says, calls }, at) => {
    const part = { type: 'image_url', image_url: { url: `data:image/png;base64,${IMAGE}` } }
    messages.push({ role: 'user', content: image ? [{ type: 'text', text: asks }, part] : asks })
    if (says === null && calls.length === 0) return
    const written = calls.map((call) => ({
      id: `${call.id}_${at}`,
      type: 'function',
      function: { name: call.name, arguments: JSON.stringify(call.input) },
    }))
    messages.push({ role: 'assistant', content: says, ...(written.length > 0 ? { tool_calls: written } : null) })
    for (const call of calls) messages.push({ role: 'tool', tool_call_id: `${call.id}_${at}`, content: call.result })
  })
  messages.push({ role: 'user', content: last })
  return { model: 'm', max_completion_tokens: 9, messages }
}

/** Messages with neighbours of the user put together, as the other dialect must have them. */
function mergedChat(messages: readonly Json[]): Json[] {
  const merged: Json[] = []
  for (const message of messages) {
    const last = merged.at(-1)
    const content = Array.isArray(message.content) ? message.content : [{ type: 'text', text: message.content }]
    if (message.role === 'user' && last?.role === 'user') last.content.push(...content)
    else merged.push(message.role === 'user' ? { role: 'user', content: [...content] } : message)
  }
  return merged
}

describe('generated conversations', () => {
  it('are taken by a messages upstream, and come back as they were', () => {
    fc.assert(
      fc.property(conversation, (generated) => {
        const request = asChat(generated)
        const there = chatToMessages(request)
        checkMessagesGrammar(there)
        const back = messagesToChat(there)
        checkChatGrammar(back)
        expect(mergedChat(back.messages as Json[])).toEqual(mergedChat(request.messages as Json[]))
      }),
      { numRuns: 300 },
    )
  })

  it('stay what they are within their dialect', () => {
    fc.assert(
      fc.property(conversation, (generated) => {
        const request = asChat(generated)
        const chat = translateRequest('openai-chat', 'openai-chat', request, { model: 'm' })
        expect(JSON.parse(JSON.stringify(chat.body))).toEqual(JSON.parse(JSON.stringify(request), dropNullContent))
        const there = chatToMessages(request)
        const messages = translateRequest('anthropic-messages', 'anthropic-messages', there, { model: 'upstream' })
        expect(JSON.parse(JSON.stringify(messages.body))).toEqual(there)
        expect([chat.dropped, messages.dropped]).toEqual([[], []])
      }),
      { numRuns: 300 },
    )
  })
})

function dropNullContent(_name: string, value: Json): Json {
  if (value?.role === 'assistant' && value.content === null) delete value.content
  return value
}

const delta = fc.oneof(
  fc.record({ content: text }),
  fc.record({ reasoning_content: text }),
  fc.record({ call: fc.nat(2), size: fc.integer({ min: 1, max: 9 }) }),
)

/** Fragments of up to three calls, in any order and of any size; each call's input is whole at the end. */
function interleaved(pieces: readonly Json[], inputs: readonly Json[]): Json[] {
  const rest = inputs.map((value) => JSON.stringify(value))
  const begun = new Set<number>()
  const deltas: Json[] = []
  const say = (index: number, size: number): void => {
    const cut = rest[index] ?? ''
    const head = begun.has(index) ? {} : { id: `call_${index}`, type: 'function' }
    const called = begun.has(index) ? {} : { name: `f${index}` }
    begun.add(index)
    rest[index] = cut.slice(size)
    deltas.push({ tool_calls: [{ index, ...head, function: { ...called, arguments: cut.slice(0, size) } }] })
  }
  for (const piece of pieces) {
    if (piece.call === undefined) deltas.push(piece)
    else say(piece.call as number, piece.size as number)
  }
  for (const index of begun) say(index, Infinity)
  return deltas
}

describe('generated chat streams', () => {
  it('are whole messages, whatever comes at the same time and wherever the network cuts', () => {
    fc.assert(
      fc.property(
        fc.array(delta, { maxLength: 20 }),
        fc.array(input, { minLength: 3, maxLength: 3 }),
        fc.array(fc.nat(), { maxLength: 10 }),
        (pieces, inputs, cuts) => {
          const deltas = interleaved(pieces, inputs)
          const end = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }
          const stream = Buffer.concat([
            chatStream([{ role: 'assistant' }, ...deltas], end),
            Buffer.from('data: [DONE]\n\n'),
          ])
          const events = decodeStream('openai-chat', cutAt(stream, cuts))
          expect(events).toEqual(decodeStream('openai-chat', [stream]))
          const view = readMessagesStream(encodeStream('anthropic-messages', events, OPTIONS))
          expect(view.text).toBe(pieces.map((piece) => ('content' in piece ? piece.content : '')).join(''))
          const thoughts = pieces.map((piece) => ('reasoning_content' in piece ? piece.reasoning_content : ''))
          expect(view.thinking).toBe(thoughts.join(''))
          const called = [...new Set(pieces.flatMap((piece) => ('call' in piece ? [piece.call] : [])))]
          expect(view.calls.map(({ name: made, input: given }) => [made, JSON.parse(given) as unknown])).toEqual(
            called.map((index) => [`f${index}`, inputs[index]]),
          )
          expect(view.stop).toBe(called.length > 0 ? 'tool_use' : 'end_turn')
          expect(answerOf(collect(events)).content.length).toBe(
            events.filter(({ type }) => type.endsWith('-end')).length,
          )
        },
      ),
      { numRuns: 500 },
    )
  })
})
