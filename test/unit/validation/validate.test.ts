import { describe, expect, it } from 'vitest'
import { createValidator } from '../../../src/front/validation/validate.ts'
import { bytesOf, refusal, validate } from './refusal.ts'

const chat = { model: 'm', messages: [{ role: 'user', content: 'Hello' }] }
const nested = (depth: number) =>
  `{"model":"m","messages":[{"role":"user","content":"x"}],"x":${'['.repeat(depth)}${']'.repeat(depth)}}`

describe('the bytes of a body', () => {
  it.each([
    ['not UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d])],
    ['an overlong form', Buffer.from([0x22, 0xc0, 0xaf, 0x22])],
    ['a surrogate in UTF-8', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])],
    ['UTF-16 with its mark', Buffer.from('\ufeff{}', 'utf16le')],
  ])('are refused when they hold %s', (_, body) => {
    expect(refusal('chat.completions', body)).toMatchObject({ code: 'INVALID_ENCODING', status: 400, param: null })
  })

  it('must not begin with a byte order mark', () => {
    expect(refusal('chat.completions', `\ufeff${JSON.stringify(chat)}`)).toMatchObject({
      code: 'INVALID_JSON',
      message: 'The body is not valid JSON: it begins with a byte order mark.',
    })
  })

  it.each([
    ['', 'the body ends too early at line 1, column 1 (byte 0)'],
    ['{"model":', 'the body ends too early at line 1, column 10 (byte 9)'],
    ['{"a":1,}', 'a field name in double quotes is expected at line 1, column 8 (byte 7)'],
    ['{\n  "é": 01\n}', 'this is not a valid number at line 2, column 8 (byte 10)'],
    ['{"secret-1":"secret-2" "secret-3"}', 'a comma or a closing bracket is expected at line 1, column 24 (byte 23)'],
    ['{"a":secret}', 'a value is expected at line 1, column 6 (byte 5)'],
    ['["secret', 'a string is not closed at line 1, column 9 (byte 8)'],
  ])('say where they are not JSON, without quoting: %s', (body, place) => {
    const error = refusal('chat.completions', body)

    expect(error).toMatchObject({ code: 'INVALID_JSON', status: 400, message: `The body is not valid JSON: ${place}.` })
    expect(error?.cause).toBeUndefined()
    expect(JSON.stringify([error?.message, error?.detail, error?.param])).not.toContain('secret')
  })

  it('may be nested 64 levels deep and no deeper', () => {
    expect(refusal('chat.completions', nested(63))).toBeNull()
    expect(refusal('chat.completions', nested(64))).toMatchObject({ code: 'JSON_TOO_DEEP', status: 400 })
    expect(refusal('chat.completions', '['.repeat(1_000_000))).toMatchObject({ code: 'JSON_TOO_DEEP' })
  })

  it('may hold as many names and values as the limit says', () => {
    const limited = createValidator({ maxDepth: 64, maxElements: 10 })
    // The body, model, its value, messages, the array, the message, two names, two values.
    expect(limited.validate('chat.completions', bytesOf(chat)).model).toBe('m')
    expect(() => limited.validate('chat.completions', bytesOf({ ...chat, x: 1 }))).toThrow(
      expect.objectContaining({ code: 'JSON_TOO_LARGE', status: 400 }),
    )
  })

  it('are too many at 9 MB of empty objects, before anything is parsed', () => {
    const flood = `{"x":[${'{},'.repeat(3_000_000)}1]}`

    expect(refusal('chat.completions', flood)).toMatchObject({ code: 'JSON_TOO_LARGE' })
  })
})

describe('a valid body', () => {
  const text =
    '{ "model" : "m" ,\n\t"messages":[{"role":"user","content":"\\u0041é\\"}"}],"n":2,"stream" :true, "x\\u0079":{"a":[1]} }'

  it('keeps its bytes and names its members by where they stand', () => {
    const body = validate('chat.completions', Buffer.from(text))
    const cut = (from: number, to: number) => body.bytes.subarray(from, to).toString()

    expect(body.bytes.toString()).toBe(text)
    expect(
      body.members.map(({ name, start, valueStart, valueEnd }) => [
        name,
        cut(start, start + 1),
        cut(valueStart, valueEnd),
      ]),
    ).toEqual([
      ['model', '"', '"m"'],
      ['messages', '"', '[{"role":"user","content":"\\u0041é\\"}"}]'],
      ['n', '"', '2'],
      ['stream', '"', 'true'],
      ['xy', '"', '{"a":[1]}'],
    ])
  })

  it('comes to the same through a structured clone', () => {
    const body = validate('chat.completions', Buffer.from(text))
    const { bytes, ...rest } = structuredClone(body)

    expect(Buffer.from(bytes).toString()).toBe(text)
    expect({ ...rest, bytes: body.bytes }).toEqual(body)
  })

  it('cannot change the prototype of anything', () => {
    validate(
      'chat.completions',
      bytesOf('{"model":"m","messages":[{"role":"user","content":"x"}],"m":{"__proto__":{"bad":1}}}'),
    )

    expect(({} as { bad?: unknown }).bad).toBeUndefined()
  })
})

it('has nothing to say of endpoints without a body', () => {
  expect(refusal('models.list', chat)).toMatchObject({ code: 'INTERNAL' })
})
