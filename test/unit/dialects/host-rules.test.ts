import { expect, it } from 'vitest'
import { knownProvider } from '../../../src/shared/config/providers/known.ts'
import type { HostQuirks } from '../../../src/shared/core/host-quirks.ts'
import { dialectOf } from '../../../src/dialects/codecs.ts'
import { createValidator } from '../../../src/front/validation/validate.ts'
import fc from '../../support/fast-check.ts'
import { loadFixtures } from '../../support/recorded-fixtures.ts'

const dialect = dialectOf('openai-chat')
const validator = createValidator({ maxDepth: 64, maxElements: 1_000_000 })

function prepare(text: string | Buffer, quirks: HostQuirks): string {
  const body = validator.validate('chat.completions', Buffer.from(text))
  return dialect.prepareBody(body, { model: body.model, stream: body.stream, quirks }).toString()
}

/** A chat body with these members behind the required ones. */
const withMembers = (members: string): string => `{"model":"m", "messages":[{"role":"user","content":"hi"}]${members}}`

it.each([
  ['the new name', ', "max_completion_tokens" : 9', ',"max_tokens":9'],
  ['the old name', ', "max_tokens" : 9', ', "max_tokens" : 9'],
  ['both', ',"max_tokens":1,"max_completion_tokens":9', ',"max_tokens":9'],
  ['both, the old one first', ',"max_completion_tokens":9,"max_tokens":1', ',"max_tokens":9'],
  ['both, the new one null', ',"max_completion_tokens":null,"max_tokens":1', ',"max_tokens":1'],
  ['both, the old one null', ',"max_tokens":null,"max_completion_tokens":9', ',"max_tokens":9'],
  ['null', ',"max_completion_tokens":null', ',"max_tokens":null'],
])('says the limit of tokens by the only name that the host knows: %s', (_, given, expected) => {
  const rewritten = prepare(withMembers(given), { maxTokensField: 'max_tokens' })

  expect(rewritten.replaceAll(' ', '')).toBe(withMembers(expected).replaceAll(' ', ''))
})

it('renames the limit for models that refuse its old name', () => {
  expect(prepare(withMembers(',"max_tokens":7'), { maxTokensField: 'max_completion_tokens' })).toBe(
    withMembers(',"max_completion_tokens":7'),
  )
})

it('neither sends nor adds stream_options where they are refused', () => {
  const quirks = { takesStreamOptions: false }

  expect(prepare(withMembers(',"stream":true'), quirks)).toBe(withMembers(',"stream":true'))
  expect(prepare(withMembers(',"stream_options":{"include_usage":true},"stream":true'), quirks)).toBe(
    withMembers(',"stream":true'),
  )
})

it.each([
  [',"seed":5', ',"random_seed":5'],
  [',"seed":5,"random_seed":null', ',"random_seed":5'],
  [',"seed":5,"random_seed":6', ',"random_seed":6'],
  [',"seed":null,"random_seed":6', ',"random_seed":6'],
  [',"random_seed":null', ',"random_seed":null'],
])('gives fields the name that the host has for them: %s', (given, expected) => {
  expect(prepare(withMembers(given), { fieldNames: { seed: 'random_seed' } })).toBe(withMembers(expected))
})

it('leaves refused fields out, and tells of those that said something', () => {
  const quirks = { refusedFields: ['user', 'logit_bias', 'store'] }
  const text = withMembers(',"user":"u","seed":1,"logit_bias":{"1":2},"store":null')
  const body = validator.validate('chat.completions', Buffer.from(text))

  expect(prepare(text, quirks)).toBe(withMembers(',"seed":1'))
  expect(dialect.leftOut?.(body, { model: 'm', stream: false, quirks })).toEqual(['user', 'logit_bias'])
  expect(dialect.leftOut?.(body, { model: 'm', stream: false })).toEqual([])
})

it('calls developers system where they are not known, and touches no text of a message', () => {
  const said = JSON.stringify('"role":"developer" {"role": "developer"} é😀')
  const text = (role: string): string =>
    `{"model":"m","messages":[{"role" : "${role}","content":${said}},{"content":"1","role":"${role}"},{"role":"user","content":${said}}]}`

  expect(prepare(text('developer'), { takesDeveloperRole: false })).toBe(text('system'))
})

it('returns the very same buffer when the host takes the body as it is', () => {
  const text = withMembers(',"max_tokens":9,"stream":false')
  const body = validator.validate('chat.completions', Buffer.from(text))
  const quirks = knownProvider('mistral')?.quirks ?? {}

  expect(dialect.prepareBody(body, { model: 'm', stream: false, quirks })).toBe(body.bytes)
})

const TEXTS = fc.oneof(fc.string(), fc.constantFrom('"role":"developer"', '\\', '\\"role', 'role', 'developer'))
const messageList = fc.array(
  fc.record({ role: fc.constantFrom('developer', 'system', 'user'), content: TEXTS, name: TEXTS }),
  { minLength: 1, maxLength: 5 },
)

it('changes roles and nothing else, whatever messages say', () => {
  fc.assert(
    fc.property(messageList, (messages) => {
      const rewritten = prepare(JSON.stringify({ model: 'm', messages }), { takesDeveloperRole: false })
      const roles = messages.map((message) => ({
        ...message,
        role: message.role === 'developer' ? 'system' : message.role,
      }))
      expect(JSON.parse(rewritten)).toEqual({ model: 'm', messages: roles })
    }),
    { numRuns: 500 },
  )
})

it('makes of every recorded request one that Mistral’s own names can say', () => {
  const quirks = knownProvider('mistral')?.quirks ?? {}
  let seen = 0
  for (const { id, request } of loadFixtures(({ protocol, hasRequest }) => protocol === 'openai-chat' && hasRequest)) {
    const before = JSON.parse(String(request)) as Record<string, unknown>
    if (!Array.isArray(before['messages']) || before['messages'].length === 0) continue
    let text: string
    try {
      text = prepare(request ?? '', quirks)
    } catch {
      continue
    }
    const after = JSON.parse(text) as Record<string, unknown>
    for (const name of [...(quirks.refusedFields ?? []), 'stream_options', 'seed', 'max_completion_tokens']) {
      expect(after, id).not.toHaveProperty(name)
    }
    expect(after['max_tokens'], id).toEqual(before['max_completion_tokens'] ?? before['max_tokens'])
    expect(text, id).not.toContain('"role":"developer"')
    seen++
  }
  expect(seen).toBeGreaterThan(200)
})
