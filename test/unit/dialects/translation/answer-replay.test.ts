import { describe, expect, it } from 'vitest'
import { isFailure } from '../../../../src/shared/core/codec.ts'
import { clientCodec, upstreamCodec } from '../../../../src/dialects/codecs.ts'
import { replayAnswer } from '../../../../src/dialects/common/replay-answer.ts'
import { withoutNulls } from '../../../support/plain-json.ts'
import type { Json } from '../../../support/plain-json.ts'
import { loadFixtures } from '../../../support/recorded-fixtures.ts'
import { readChatStream, readMessagesStream } from '../../../support/stream-grammar.ts'
import { OPTIONS, answerOf, encodeStream } from '../../../support/translation.ts'

const ANSWERS = loadFixtures(({ kind, operation }) => kind === 'response' && operation === null)

function chatTexts({ choices }: Json): { text: string; calls: Json[] } {
  const { message } = choices[0]
  const parts: Json[] = Array.isArray(message?.content) ? message.content : [{ text: message?.content ?? '' }]
  const calls: Json[] = [...(message?.tool_calls ?? [])].map(
    (call) => call.function ?? { name: call.custom.name, arguments: call.custom.input },
  )
  if (message?.function_call?.name) calls.push(message.function_call)
  return { text: parts.map((part) => part.text ?? '').join('') + (message?.refusal ?? ''), calls }
}

function sameArguments(input: Json, text: string): void {
  if (Object.hasOwn(input as object, '_raw_arguments')) expect(input).toEqual({ _raw_arguments: text })
  else expect(input).toEqual(text === '' ? {} : (JSON.parse(text) ?? {}))
}

describe('recorded answers, translated', () => {
  it('reach a messages client from a chat upstream with all they say', () => {
    let cases = 0
    let calls = 0
    for (const fixture of ANSWERS.filter(({ protocol }) => protocol === 'openai-chat')) {
      const body: Json = JSON.parse(fixture.response.toString('utf8'))
      const read = upstreamCodec('openai-chat').parseAnswer(body)
      if (!Array.isArray(body.choices)) {
        expect(isFailure(read), fixture.id).toBe(true)
        continue
      }
      const answer = answerOf(read)
      const { body: message } = clientCodec('anthropic-messages').buildAnswer(answer, OPTIONS)
      const content: Json[] = message['content'] as Json[]
      const expected = chatTexts(body)
      expect(content.map((block) => (block.type === 'text' ? block.text : '')).join(''), fixture.id).toBe(expected.text)
      const uses = content.filter((block) => block.type === 'tool_use')
      expect(
        uses.map((use) => use.name),
        fixture.id,
      ).toEqual(expected.calls.map((call: Json) => call.name))
      if (body.choices[0].finish_reason !== 'length') {
        uses.forEach((use, at) => sameArguments(use.input, expected.calls[at].arguments))
      }
      const stop: Json = message['stop_reason']
      if (uses.length > 0 && body.choices[0].finish_reason !== 'length') expect(stop, fixture.id).toBe('tool_use')
      const streamed = readMessagesStream(encodeStream('anthropic-messages', replayAnswer(answer)))
      expect([streamed.text, streamed.stop], fixture.id).toEqual([expected.text, stop])
      cases++
      calls += uses.length
    }
    console.log(`messages client, chat upstream: ${cases} answers, ${calls} calls`)
    expect(cases).toBeGreaterThan(160)
    expect(calls).toBeGreaterThan(50)
  })

  it('reach a chat client from a messages upstream with all they say', () => {
    let cases = 0
    let calls = 0
    for (const fixture of ANSWERS.filter(({ protocol }) => protocol === 'anthropic-messages')) {
      const body: Json = JSON.parse(fixture.response.toString('utf8'))
      const answer = answerOf(upstreamCodec('anthropic-messages').parseAnswer(body))
      const { body: completion } = clientCodec('openai-chat').buildAnswer(answer, OPTIONS)
      const { message, finish_reason: finish } = (completion['choices'] as Json[])[0]
      const texts = body.content.filter((block: Json) => block.type === 'text').map((block: Json) => block.text)
      expect(message.content ?? '', fixture.id).toBe(texts.join(''))
      const uses = body.content.filter((block: Json) => block.type === 'tool_use')
      const written = (message.tool_calls ?? []).map((call: Json) => [
        call.id,
        call.function.name,
        JSON.parse(call.function.arguments as string),
      ])
      expect(written, fixture.id).toEqual(uses.map((use: Json) => [use.id, use.name, use.input]))
      const thinking = body.content.filter((block: Json) => block.type === 'thinking')
      expect(message.reasoning_content ?? '', fixture.id).toBe(thinking.map((block: Json) => block.thinking).join(''))
      const { input_tokens: input, cache_read_input_tokens: read, cache_creation_input_tokens: made } = body.usage
      const usage: Json = completion['usage']
      expect(usage.prompt_tokens, fixture.id).toBe(input + (read ?? 0) + (made ?? 0))
      expect(usage.total_tokens, fixture.id).toBe(usage.prompt_tokens + body.usage.output_tokens)
      const streamed = readChatStream(encodeStream('openai-chat', replayAnswer(answer)))
      expect([streamed.text, streamed.stop, streamed.calls.length], fixture.id).toEqual([
        texts.join(''),
        finish,
        uses.length,
      ])
      cases++
      calls += uses.length
    }
    console.log(`chat client, messages upstream: ${cases} answers, ${calls} calls`)
    expect(cases).toBeGreaterThan(80)
    expect(calls).toBeGreaterThan(15)
  })

  it('stay what they are within their dialect', () => {
    let cases = 0
    for (const fixture of ANSWERS) {
      const body: Json = JSON.parse(fixture.response.toString('utf8'))
      const read = upstreamCodec(fixture.protocol).parseAnswer(body)
      if (isFailure(read) || (body.choices?.length ?? 1) > 1) continue
      const built: Json = clientCodec(fixture.protocol).buildAnswer(read, OPTIONS).body
      expect(canonical(built), fixture.id).toEqual(canonical(body))
      cases++
    }
    console.log(`answers compared within their dialect: ${cases} of ${ANSWERS.length}`)
    expect(cases).toBeGreaterThan(240)
  })
})

/** What means the same: null and absent, an empty text and none. */
function canonical(body: Json): Json {
  const copy = withoutNulls(body)
  if (copy.choices) {
    copy.id ||= `chatcmpl-${OPTIONS.id}`
    copy.created ??= OPTIONS.created
    copy.object ??= 'chat.completion'
  }
  for (const choice of copy.choices ?? []) {
    // Blocked answers have no message.
    const message: Json = (choice.message ??= { role: 'assistant' })
    for (const call of message.tool_calls ?? []) call.type ??= 'function'
    if (message.function_call?.name === '') delete message.function_call
    for (const name of ['content', 'refusal', 'reasoning', 'reasoning_content']) {
      if (message?.[name] === '') delete message[name]
    }
    for (const name of ['tool_calls', 'annotations']) if (message?.[name]?.length === 0) delete message[name]
  }
  for (const block of Array.isArray(copy.content) ? copy.content : []) {
    if (block.citations?.length === 0) delete block.citations
  }
  return copy
}
