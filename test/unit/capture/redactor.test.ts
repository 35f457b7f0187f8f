import { describe, expect, it } from 'vitest'
import { Redactor } from '../../../src/control/capture/redactor.ts'
import { PatternError } from '../../../src/control/capture/patterns.ts'
import { generateApiKey } from '../../../src/shared/core/api-key.ts'
import fc from '../../support/fast-check.ts'

const plain = new Redactor([])

const redacted = (body: string, isCut = false, redactor = plain): string => redactor.redact(body, isCut).text

/** A prompt with a text in the middle of a sentence. */
const prompt = (text: string): string =>
  JSON.stringify({ model: 'm', messages: [{ role: 'user', content: `Use ${text} for it.` }] })

const AWS_ID = `AKIA${'IOSFODNN7EXAMPLE'}`
const JWT = ['eyJhbGciOiJIUzI1NiJ9', 'eyJzdWIiOiIxMjM0NTY3ODkwIn0', 'c2lnbmF0dXJlLW9mLXRoZS10b2tlbg'].join('.')
const PEM = `-----BEGIN RSA PRIVATE KEY-----\n${'MIIEowIBAAKCAQEA0Z3\n'.repeat(20)}-----END RSA PRIVATE KEY-----`

const CREDENTIALS: ReadonlyArray<readonly [kind: string, secret: string]> = [
  ['a key of this gateway', generateApiKey()],
  ['a key of OpenAI', `sk-proj-${'a1B2_c3-D4'.repeat(6)}`],
  ['a key of Anthropic', `sk-ant-api03-${'x9Yz-'.repeat(12)}`],
  ['a key of Stripe', `sk_live_${'4eC39HqLyjWDarjtT1zdp7dc'}`],
  ['a key of Google', `AIza${'SyA1234567890abcdefghijklmnopqrstuv'}`],
  ['a key of Groq', `gsk_${'abcdefghij1234567890'}`],
  ['a token of GitHub', `ghp_${'a1b2c3d4e5f6g7h8i9j0k1l2m3n4o5p6q7r8'}`],
  ['a token of Slack', `xoxb-${'123456789012-abcdefABCDEF'}`],
  ['an access key of AWS', AWS_ID],
  ['a JWT', JWT],
  ['a private key', PEM],
]

describe('credentials', () => {
  it.each(CREDENTIALS)('%s is redacted', (_, secret) => {
    const text = redacted(prompt(secret))
    const content = (JSON.parse(text) as { messages: Array<{ content: string }> }).messages[0]?.content
    expect(content).toMatch(/^Use \[redacted:[a-z-]+\] for it\.$/)
    expect(redacted(`Use ${secret} for it.`)).toBe(content)
  })

  it.each([
    ['Authorization: Bearer abcdefgh12345678', 'Authorization: Bearer [redacted:authorization]'],
    ['"authorization": "Basic dXNlcjpwYXNzd29yZA=="', '"authorization": "Basic [redacted:authorization]"'],
    ['postgres://ada:s3cret@db.example.com/x', 'postgres://ada:[redacted:password]@db.example.com/x'],
    ['redis://:s3cret@cache/0', 'redis://:[redacted:password]@cache/0'],
    ['export OPENAI_API_KEY=abcdef123456', 'export OPENAI_API_KEY=[redacted:secret]'],
    ['aws_secret_access_key = wJalrXUtnFEMI/K7MDENG', 'aws_secret_access_key = [redacted:secret]'],
    ['{"password":"hunter22"}', '{"password":"[redacted:field]"}'],
    ['{"apiKey": "short", "x": 1}', '{"apiKey": "[redacted:field]", "x": 1}'],
    ['{"text":"{\\"client_secret\\": \\"abc12345\\"}"}', '{"text":"{\\"client_secret\\": \\"[redacted:secret]\\"}"}'],
  ])('%s', (body, expected) => {
    expect(redacted(body)).toBe(expected)
  })

  it.each([
    '{"logprobs":{"content":[{"token":"Hello","logprob":-0.1}]}}',
    '{"tools":[{"function":{"name":"login","parameters":{"properties":{"password":{"type":"string"}}}}}]}',
    '{"max_tokens":5,"content":"a task-management-software-package-2 and a risk-assessment-of-something-4"}',
    '{"id":"chatcmpl-A1b2C3d4E5f6G7h8I9j0","object":"chat.completion","n":12345678901234567890}',
    '{ "a" : [ "the key is missing", "bearer of bad news" ] , "b":"https://example.com:8080/x@y" }',
  ])('leaves %s', (body) => {
    expect(plain.redact(body, false)).toEqual({ text: body, redactions: 0 })
  })

  it('are found behind the escapes of JSON, and nothing else of the body changes', () => {
    const body = '{"n": 12345678901234567890,\n "a":"\\u0073k-\\u0061bcdefgh12345678ijkl", "b":"\\u00fc\\/ü" }'
    expect(redacted(body)).toBe('{"n": 12345678901234567890,\n "a":"[redacted:api-key]", "b":"\\u00fc\\/ü" }')
  })
})

const SECRET = `sk-${'a1b2c3d4'.repeat(5)}`

/** The same secret in the deltas of a stream of each protocol, a piece in each event. */
const STREAMS: ReadonlyArray<readonly [protocol: string, eventOf: (text: string) => string]> = [
  ['chat', (text) => `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: text } }] })}\n\n`],
  [
    'messages',
    (text) =>
      `event: content_block_delta\ndata: ${JSON.stringify({ type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text } })}\n\n`,
  ],
  [
    'responses',
    (delta) =>
      `event: response.output_text.delta\ndata: ${JSON.stringify({ type: 'response.output_text.delta', output_index: 0, content_index: 0, delta })}\n\n`,
  ],
  [
    'arguments of a call',
    (text) =>
      `data: ${JSON.stringify({ choices: [{ index: 0, delta: { tool_calls: [{ index: 2, function: { arguments: text } }] } }] })}\n\n`,
  ],
]

describe.each(STREAMS)('a stream of %s', (_, eventOf) => {
  it.each([1, 3, 7, 100])('has no secret that arrives in pieces of %i characters', (size) => {
    const text = `Take ${SECRET} now`
    const pieces = text.match(new RegExp(`.{1,${size}}`, 'g')) ?? []
    const body = `${pieces.map(eventOf).join('')}data: [DONE]\n\n`
    const { text: result, redactions } = plain.redact(body, false)
    expect(redactions).toBe(1)
    const alone = [...result.matchAll(/"(?:content|text|delta|arguments)":"([^"]*)"/g)]
      .map(([, delta]) => delta)
      .join('')
    expect(alone).toBe('Take [redacted:api-key] now')
    expect(result.split('\n\n')).toHaveLength(body.split('\n\n').length)
  })
})

it('keeps the choices of a stream apart', () => {
  const eventOf = (index: number, content: string): string =>
    `data: ${JSON.stringify({ choices: [{ index, delta: { content } }] })}\n\n`
  const body = [...SECRET].map((character) => eventOf(0, character) + eventOf(1, 'x')).join('')
  const result = redacted(body)
  expect(result).toContain('[redacted:api-key]')
  expect(result.match(/"content":"x"/g)).toHaveLength(SECRET.length)
})

describe('damaged JSON', () => {
  it.each([
    ['without quotes', `{model:gpt-4o,n:1,messages:[{role:user,content:my key ${SECRET}}]}`],
    ['with single quotes', `{'model': 'gpt-4o', 'messages': [{'role': 'user', 'content': 'my key ${SECRET}'}]}`],
    ['with a quote that is not escaped', `{"content":"say "${SECRET}" now","n":null}`],
    ['whose texts are outside of quotes', `{"a":"x"","content":"a quote, and:\\n${SECRET}"}`],
    ['that is a template', `[[ role ]] my key is\n${SECRET}`],
    ['in a list', `[1, 2, true, ${SECRET}, 3]`],
  ])('%s has no secret, and nothing else of it changes', (_, body) => {
    expect(plain.redact(body, false)).toEqual({ text: body.replace(SECRET, '[redacted:api-key]'), redactions: 1 })
  })

  it.each([
    [`{'api_key': 'a1b2c3d4', 'n': 5}`, `{'api_key': '[redacted:secret]', 'n': 5}`],
    ['{user:"ada",password:"abc"}', '{user:"ada",password:"[redacted:field]"}'],
    [`{'password': "it's me", 'n': 5}`, `{'password': "[redacted:field]", 'n': 5}`],
    [`{'key': '${PEM}'}`, `{'key': '[redacted:private-key]'}`],
  ])('%s', (body, expected) => {
    expect(redacted(body)).toBe(expected)
  })

  it('loses its last word where it was cut', () => {
    const whole = `{role:user,content:my key ${SECRET}`
    for (let end = whole.indexOf(SECRET) + 1; end < whole.length; end++) {
      expect(redacted(whole.slice(0, end), true)).not.toContain('sk-')
    }
  })

  it('has its matches of the patterns redacted, and its numbers', () => {
    const redactor = new Redactor(['[0-9]{4}-[0-9]{4}', 'Falcon'])
    expect(redacted('{note:pay 1234-5678 for Falcon,"n":7}', false, redactor)).toBe(
      '{note:pay [redacted:pattern] for [redacted:pattern],"n":7}',
    )
  })
})

describe('a stream with other lines than JSON', () => {
  it.each([
    ['data without quotes', `data: my key ${SECRET}\n\n`],
    ['a line of no field', `data: {"a":"b"}\nmy key ${SECRET}\n`],
    ['a comment', `: my key ${SECRET}\ndata: {"a":"b"}\n\n`],
    ['an id', `event: message\nid: ${SECRET}\ndata: {"a":"b"}\n\n`],
    ['data that is damaged', `data: {"a":"b",content:my key ${SECRET}}\n\ndata: [DONE]\n\n`],
    ['a text that begins as a stream', `id: 5\nname: Ada\nkey: ${SECRET}\n`],
  ])('has no secret in %s', (_, body) => {
    expect(plain.redact(body, false)).toEqual({ text: body.replace(SECRET, '[redacted:api-key]'), redactions: 1 })
  })

  it('has no private key of several lines', () => {
    expect(redacted(`id: 5\n${PEM}\n`)).toBe('id: 5\n[redacted:private-key]\n')
    const text = redacted(`data: ${PEM.replaceAll('\n', '\ndata: ')}\n\n`)
    expect(text).toContain('[redacted:private-key]')
    expect(text).not.toContain('MIIE')
  })

  it('loses its last word where it was cut', () => {
    const body = `data: {"a":"b"}\n\ndata: my key ${SECRET}`
    expect(redacted(body.slice(0, -30), true)).toBe('data: {"a":"b"}\n\ndata: my key ')
  })
})

describe('a body that was cut', () => {
  it('loses its last word, which may begin a secret', () => {
    const whole = prompt(SECRET)
    for (let end = whole.indexOf(SECRET) + 1; end < whole.length; end++) {
      expect(redacted(whole.slice(0, end), true)).not.toContain('sk-a')
    }
  })

  it('loses the last word of a stream, whose deltas end within it', () => {
    const events = [...`the key sk-a1b2c`].map(
      (content) => `data: {"choices":[{"delta":{"content":"${content}"}}]}\n\n`,
    )
    const texts = [...redacted(events.join(''), true).matchAll(/"content":"([^"]*)"/g)].map(([, text]) => text)
    expect(texts.join('')).toBe('the key ')
  })

  it('loses a private key whose end is missing', () => {
    expect(redacted(`It is ${PEM.slice(0, 200)}`, true)).not.toContain('MIIE')
  })
})

describe('patterns of the settings', () => {
  it('redact their matches in texts, names and events', () => {
    const redactor = new Redactor(['(?i)project [a-z]+', '[0-9]{4}-[0-9]{4}'])
    expect(redacted('{"a":"About Project Falcon: 1234-5678.","Project X":1}', false, redactor)).toBe(
      '{"a":"About [redacted:pattern]: [redacted:pattern].","[redacted:pattern]":1}',
    )
    const events = [...'pay 1234-5678!'].map((text) => `data: {"delta":{"content":"${text}"}}\n\n`).join('')
    expect(redacted(events, false, redactor)).not.toContain('"5"')
  })

  it('redact numbers, as texts', () => {
    const redactor = new Redactor(['[0-9]{16}'])
    const body = '{"card":4111111111111111,"n":[1,2.5e3,-7],"s":"4111111111111111"}'
    expect(redacted(body, false, redactor)).toBe(
      '{"card":"[redacted:pattern]","n":[1,2.5e3,-7],"s":"[redacted:pattern]"}',
    )
  })

  it.each(['(?=a)b', '(a)\\1', '(', '(?<!x)y'])('of no RE2 are refused: %s', (pattern) => {
    expect(() => new Redactor([pattern])).toThrow(PatternError)
  })

  it.each(['a*', 'x?', '(?:a|)'])('that match the empty text are refused: %s', (pattern) => {
    expect(() => new Redactor([pattern])).toThrow('empty text')
  })

  it.each(['(?:[a-z]{30}){30}(?:[a-z]{30}){30}(?:[a-z]{30}){30}', '((a{100}){100}){100}'])(
    'that are too large are refused: %s',
    (pattern) => {
      expect(() => new Redactor([pattern])).toThrow(PatternError)
    },
  )
})

describe('any body', () => {
  it('without secrets stays as it is', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.integer({ min: 0, max: 4 }), (value, indent) => {
        const body = JSON.stringify(value, null, indent)
        fc.pre(plain.redact(body, false).redactions === 0)
        expect(redacted(body)).toBe(body)
      }),
    )
  })

  it('is redacted without an error, whatever its bytes, and JSON stays JSON', () => {
    const redactor = new Redactor(['[aeiou]+', '"', '[0-9]'])
    fc.assert(
      fc.property(fc.json(), fc.nat(), (value, end) => {
        const json = `[${value}]`
        expect(() => JSON.parse(redacted(json, false, redactor)) as unknown).not.toThrow()
        redactor.redact(json.slice(0, end % (json.length + 1)), true)
        redactor.redact(`data: ${json}\n\ndata: ${json.slice(0, end % (json.length + 1))}`, true)
      }),
    )
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        redactor.redact(text, true)
        redactor.redact(`{${text}`, true)
        redactor.redact(`data:${text}`, true)
      }),
    )
  })

  it.each([
    ['[', '['],
    ['\\', '{"a":"\\'],
    ['"', '{"'],
    ['eyJ-', '"'],
    ['sk-', '"'],
    ['a://b:', '"'],
    ['-----BEGIN PRIVATE KEY-----', '"'],
    ['password: ', '"'],
    ['a:', '{'],
    ['\\n', '{'],
    ['"a', '{'],
    ['null', '{'],
    ['data: a\n', ''],
    ['a\n', 'data: b\n'],
    ['data: {"delta":{"content":"a"}}\n\n', ''],
  ])('of 256 KiB of %j ends in time', (unit, begin) => {
    const body = begin + unit.repeat(262_144 / unit.length)
    expect(redacted(body, true).length).toBeLessThanOrEqual(body.length * 2)
  })
})
