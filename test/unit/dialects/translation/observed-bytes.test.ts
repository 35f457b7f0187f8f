import { expect, it } from 'vitest'
import { StreamTranslation, translateAnswer } from '../../../../src/dialects/translate.ts'
import type { AnswerTranslation } from '../../../../src/dialects/translate.ts'
import { OPTIONS, chatStream, finishChunk } from '../../../support/translation.ts'

const THOUGHT = '考える'
const TEXT = 'Größe 了解 👍🏽'
const CALL = { index: 0, id: 'c1', type: 'function', function: { name: 'wetter', arguments: '{"ort":"Köln"}' } }
const BYTES = Buffer.byteLength(`${THOUGHT}${TEXT}wetter{"ort":"Köln"}`)
const TO_MESSAGES: AnswerTranslation = {
  client: 'anthropic-messages',
  upstream: 'openai-chat',
  restoration: null,
  options: OPTIONS,
}

it('what passes of a translated stream is counted in bytes, as of one that is not translated', () => {
  const stream = chatStream(
    [{ reasoning_content: THOUGHT }, { content: TEXT }, { tool_calls: [CALL] }],
    finishChunk('tool_calls'),
  )
  const translation = new StreamTranslation(TO_MESSAGES, true)
  for (const event of stream.toString().split(/(?<=\n\n)/)) {
    const bytes = Buffer.from(event)
    translation.push(bytes, 0, bytes.length)
  }
  translation.finish()
  expect([translation.ended, translation.observedTextBytes]).toEqual([true, BYTES])
})

it('a whole answer that nobody counted is counted the same', () => {
  const message = { role: 'assistant', reasoning_content: THOUGHT, content: TEXT, tool_calls: [CALL] }
  const answer = { id: 'x', model: 'm', choices: [{ index: 0, finish_reason: 'tool_calls', message }] }
  const { observedTextBytes, usage } = translateAnswer(Buffer.from(JSON.stringify(answer)), TO_MESSAGES)
  expect([usage, observedTextBytes]).toEqual([null, BYTES])
})
