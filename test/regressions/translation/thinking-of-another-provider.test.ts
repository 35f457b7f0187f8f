import { expect, it } from 'vitest'
import { dialectOf } from '../../../src/dialects/codecs.ts'
import { createValidator } from '../../../src/front/validation/validate.ts'

const validator = createValidator({ maxDepth: 100, maxElements: 100_000 })

function sent(messages: unknown): unknown {
  const bytes = Buffer.from(JSON.stringify({ model: 'm', max_tokens: 9, messages }))
  const body = validator.validate('messages', bytes)
  const prepared = dialectOf('anthropic-messages').prepareBody(body, { model: 'm', stream: false })
  return (JSON.parse(prepared.toString()) as { messages: unknown }).messages
}

const user = { role: 'user', content: 'Hello' }
const text = { type: 'text', text: 'Hi' }
const own = { type: 'thinking', thinking: 'hm', signature: 'EqQBCgIYAhIM' }

it('is not sent to the messages service, which did not sign it', () => {
  const foreign = [
    { type: 'thinking', thinking: 'so', signature: 'sluice-unsigned' },
    { type: 'redacted_thinking', data: 'google-gemini-v1:call:abc' },
  ]
  const history = [user, { role: 'assistant', content: [own, ...foreign, text] }, user]
  expect(sent(history)).toEqual([user, { role: 'assistant', content: [own, text] }, user])
  expect(sent([user, { role: 'assistant', content: foreign }, user])).toEqual([user, user])
})

it('stays where the client merely speaks of it', () => {
  const said = [{ role: 'user', content: 'What is sluice-unsigned?' }]
  expect(sent(said)).toEqual(said)
})
