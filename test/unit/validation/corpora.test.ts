import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { bytesOf, refusal, validate } from './refusal.ts'

const corpora = new URL('../../fixtures/corpora/', import.meta.url)
const load = (file: string): unknown => JSON.parse(readFileSync(new URL(file, corpora), 'utf8'))

const cases = (load('json-test-suite/cases.json') as { name: string; base64: string }[]).map(({ name, base64 }) => ({
  name,
  whole: Buffer.from(base64, 'base64'),
}))
const starting = (prefix: string) => cases.filter(({ name }) => name.startsWith(prefix))

/** The case as the value of a field that is not ours. */
function embedded(value: Buffer): Buffer {
  const before = '{"model":"m","messages":[{"role":"user","content":"x"}],"x":'
  return Buffer.concat([Buffer.from(before), value, Buffer.from('}')])
}

const JSON_ERRORS = ['INVALID_JSON', 'INVALID_ENCODING', 'JSON_TOO_DEEP']

describe('the JSON test suite', () => {
  it('is all there', () => {
    expect([starting('y_'), starting('n_'), starting('i_')].map((list) => list.length)).toEqual([95, 188, 35])
  })

  // None of them becomes valid by the bytes around it, so there is no list of exceptions.
  it.each(starting('n_'))('refuses $name, alone and as a value', ({ whole }) => {
    expect(JSON_ERRORS).toContain(refusal('chat.completions', whole)?.code)
    expect(JSON_ERRORS).toContain(refusal('chat.completions', embedded(whole))?.code)
  })

  it.each(starting('y_'))('reads $name, alone and as a value', ({ name, whole }) => {
    // Valid JSON, but none is a chat body; two give a field twice at the top level, which passes further down.
    const expected = name.startsWith('y_object_duplicated_key') ? 'DUPLICATE_FIELD' : 'INVALID_FIELD'
    expect(refusal('chat.completions', whole)?.code).toBe(expected)
    expect(refusal('chat.completions', embedded(whole))).toBeNull()
  })

  it.each(starting('i_'))('does not fall over $name', ({ whole }) => {
    expect([...JSON_ERRORS, 'INVALID_FIELD']).toContain(refusal('chat.completions', whole)?.code)
    expect([...JSON_ERRORS, undefined]).toContain(refusal('chat.completions', embedded(whole))?.code)
  })
})

describe('the naughty strings', () => {
  const strings = load('naughty-strings/blns.json') as string[]

  it.each(['chat.completions', 'messages'] as const)('pass as content of %s', (endpoint) => {
    expect(strings.length).toBeGreaterThan(500)
    for (const text of strings) {
      const parts = [{ type: 'text', text }]
      const body = { model: 'm', max_tokens: 1, messages: [text, parts].map((content) => ({ role: 'user', content })) }
      expect(validate(endpoint, bytesOf(body)).model).toBe('m')
    }
  })

  it('pass as the model and come out unchanged', () => {
    for (const text of strings.filter((string) => string !== '' && [...string].length <= 256)) {
      const body = { model: text, messages: [{ role: 'user', content: 'x' }] }
      expect(validate('chat.completions', bytesOf(body)).model).toBe(text)
    }
  })

  it('pass as names of fields that are not ours', () => {
    for (const text of strings.filter((string) => !['model', 'messages', '__proto__'].includes(string))) {
      const body = { model: 'm', messages: [{ role: 'user', content: 'x' }], extra: { [text]: text } }
      expect(refusal('chat.completions', body)).toBeNull()
    }
  })
})
