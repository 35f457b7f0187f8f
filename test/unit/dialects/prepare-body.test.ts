import { describe, expect, it } from 'vitest'
import type { DialectName } from '../../../src/shared/core/endpoint.ts'
import type { MemberSpan, RequestBody } from '../../../src/shared/core/request-body.ts'
import { dialectOf } from '../../../src/dialects/codecs.ts'
import fc from '../../support/fast-check.ts'
import { loadFixtures } from '../../support/recorded-fixtures.ts'

interface Piece {
  name: string
  json: string
}

/** Writes an object with the given white space and remembers where its members stand. */
function bodyOf(pieces: readonly Piece[], space: string): RequestBody {
  let text = `${space}{${space}`
  const members: MemberSpan[] = []
  pieces.forEach(({ name, json }, i) => {
    if (i > 0) text += `${space},${space}`
    const start = Buffer.byteLength(text)
    text += `${JSON.stringify(name)}${space}:${space}`
    const valueStart = Buffer.byteLength(text)
    text += json
    members.push({ name, start, valueStart, valueEnd: Buffer.byteLength(text) })
  })
  text += `${space}}${space}`
  return requestBody(Buffer.from(text), members)
}

function requestBody(bytes: Buffer, members: readonly MemberSpan[]): RequestBody {
  const { model, stream } = JSON.parse(bytes.toString()) as { model?: string; stream?: boolean }
  return {
    bytes,
    members,
    model: model ?? '',
    stream: stream ?? false,
    wantsUsage: false,
    maxOutputTokens: null,
    choices: 1,
    namesServers: false,
    estimatedPromptTokens: 0,
    affinity: null,
    expected: null,
    tags: null,
  }
}

/** The edits, made on parsed JSON. */
function expectedBody(
  dialect: DialectName,
  body: RequestBody,
  model: string,
  stream: boolean,
): Record<string, unknown> {
  const value = JSON.parse(body.bytes.toString()) as Record<string, unknown>
  for (const name of ['api_base', 'api_key', 'base_url']) delete value[name]
  if ('model' in value) value['model'] = model
  if (dialect === 'openai-chat' && stream) {
    value['stream_options'] = { ...(value['stream_options'] ?? {}), include_usage: true }
  }
  return value
}

const name = fc.constantFrom(
  'messages',
  'n',
  'temperature',
  'ünicode',
  'a"b',
  'api_base',
  'api_key',
  'base_url',
  'seed',
  '__proto__',
)
const value = fc.constantFrom(
  '1',
  '1.50',
  '12345678901234567890',
  '"ä😀\\u00e4"',
  '[ 1 ,2]',
  '{ "model":"x" }',
  'null',
  'true',
  '""',
)
const streamOptions = fc.constantFrom(
  'null',
  '{}',
  '{"include_usage":true}',
  '{ "include_usage" : false, "include_obfuscation":false}',
  '{"include_usage":null}',
)
const pieces = fc
  .tuple(
    fc.uniqueArray(fc.record({ name, json: value }), { selector: (piece) => piece.name, maxLength: 8 }),
    fc.option(streamOptions),
    fc.nat(),
    fc.nat(),
  )
  .map(([others, options, modelAt, optionsAt]) => {
    const all: Piece[] = [...others]
    all.splice(modelAt % (all.length + 1), 0, { name: 'model', json: '"asked"' })
    if (options !== null) all.splice(optionsAt % (all.length + 1), 0, { name: 'stream_options', json: options })
    return all
  })

describe.each(['openai-chat', 'anthropic-messages'] as const)('prepareBody of %s', (dialectName) => {
  const dialect = dialectOf(dialectName)

  it('means the input with the edits, and leaves the text of every other member alone', () => {
    fc.assert(
      fc.property(
        pieces,
        fc.constantFrom('', ' ', '\n  '),
        fc.constantFrom('asked', 'ser"ved'),
        fc.boolean(),
        (given, space, model, stream) => {
          const body = bodyOf(given, space)
          const result = dialect.prepareBody(body, { model, stream })
          const text = result.toString()
          expect(JSON.parse(text)).toEqual(expectedBody(dialectName, body, model, stream))

          const edited = new Set(['model', 'stream_options', 'api_base', 'api_key', 'base_url'])
          let at = 0
          for (const { name: kept, json } of given) {
            if (edited.has(kept)) continue
            const found = text.indexOf(`${JSON.stringify(kept)}${space}:${space}${json}`, at)
            expect(found).toBeGreaterThanOrEqual(at)
            at = found + 1
          }
          if (result.equals(body.bytes)) expect(result).toBe(body.bytes)
        },
      ),
      { numRuns: 500 },
    )
  })

  it('returns the very same buffer when nothing needs to change', () => {
    const body = bodyOf(
      [
        { name: 'model', json: '"asked"' },
        { name: 'stream_options', json: '{"include_usage":true}' },
      ],
      ' ',
    )
    expect(dialect.prepareBody(body, { model: 'asked', stream: true })).toBe(body.bytes)
    expect(dialect.prepareBody(body, { model: 'asked', stream: false })).toBe(body.bytes)
  })

  it('changes only the value of the model in the middle of a body', () => {
    const body = bodyOf(
      [
        { name: 'a', json: '1' },
        { name: 'model', json: '"asked"' },
        { name: 'b', json: '2.0' },
      ],
      '\t',
    )
    expect(dialect.prepareBody(body, { model: 'm', stream: false }).toString()).toBe(
      body.bytes.toString().replace('"asked"', '"m"'),
    )
  })

  it('keeps commas right when members go at the start, in the middle and at the end', () => {
    const secret = (key: string): Piece => ({ name: key, json: '"x"' })
    const kept = (key: string): Piece => ({ name: key, json: '1' })
    const cut = (given: Piece[]): string =>
      dialect.prepareBody(bodyOf(given, ''), { model: '', stream: false }).toString()
    expect(cut([secret('api_base'), kept('a')])).toBe('{"a":1}')
    expect(cut([kept('a'), secret('api_base'), kept('b')])).toBe('{"a":1,"b":1}')
    expect(cut([kept('a'), secret('api_base'), secret('api_key')])).toBe('{"a":1}')
    expect(cut([secret('api_base'), secret('api_key'), kept('a'), secret('base_url')])).toBe('{"a":1}')
    expect(cut([secret('api_base')])).toBe('{}')
  })

  it('gives every recorded request the upstream’s model and changes nothing else', () => {
    let seen = 0
    for (const fixture of loadFixtures(({ protocol, hasRequest }) => protocol === dialectName && hasRequest)) {
      const bytes = fixture.request as Buffer
      const body = requestBody(bytes, topLevelMembers(bytes))
      const result = dialect.prepareBody(body, { model: 'served', stream: body.stream })
      expect(JSON.parse(result.toString()), fixture.id).toEqual(expectedBody(dialectName, body, 'served', body.stream))
      seen++
    }
    expect(seen).toBeGreaterThan(100)
  })
})

describe('prepareBody of openai-chat', () => {
  const prepare = (json: string | null): string => {
    const given: Piece[] = [{ name: 'model', json: '"asked"' }]
    if (json !== null) given.push({ name: 'stream_options', json })
    return dialectOf('openai-chat').prepareBody(bodyOf(given, ''), { model: 'asked', stream: true }).toString()
  }

  it('asks for usage in streams, keeping the other options', () => {
    expect(prepare(null)).toBe('{"model":"asked","stream_options":{"include_usage":true}}')
    expect(prepare('null')).toBe('{"model":"asked","stream_options":{"include_usage":true}}')
    expect(prepare('{"include_obfuscation":false}')).toBe(
      '{"model":"asked","stream_options":{"include_obfuscation":false,"include_usage":true}}',
    )
  })

  it('leaves options alone that are no object, for the upstream to refuse', () => {
    expect(prepare('"x"')).toBe('{"model":"asked","stream_options":"x"}')
    expect(prepare('[1]')).toBe('{"model":"asked","stream_options":[1]}')
  })
})

/** Spans of the members of a recorded body, found by trying: the shortest text behind a colon that parses. */
function topLevelMembers(bytes: Buffer): MemberSpan[] {
  const text = bytes.toString('latin1')
  const members: MemberSpan[] = []
  let at = text.indexOf('{') + 1
  for (;;) {
    const gap = /^[\s,]*/.exec(text.slice(at))?.[0].length ?? 0
    const start = at + gap
    if (text[start] !== '"') return members
    const key = /^"(?:[^"\\]|\\.)*"/.exec(text.slice(start))?.[0] ?? ''
    const valueStart = start + key.length + (/^\s*:\s*/.exec(text.slice(start + key.length))?.[0].length ?? 0)
    const valueEnd = endOfValue(text, valueStart)
    members.push({ name: JSON.parse(key) as string, start, valueStart, valueEnd })
    at = valueEnd
  }
}

function endOfValue(text: string, start: number): number {
  const pattern = /"(?:[^"\\]|\\.)*"|[[{]|[\]}]|,|[^"[\]{},]+/gy
  pattern.lastIndex = start
  let depth = 0
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    if (/^[[{]/.test(match[0])) depth++
    if (/^[\]}]/.test(match[0])) depth--
    if (depth < 0 || (depth === 0 && match[0] === ',')) return match.index - trailingSpace(text, match.index)
    if (depth === 0 && /^["\]}]/.test(match[0])) return pattern.lastIndex
  }
  throw new Error('not an object')
}

function trailingSpace(text: string, end: number): number {
  return /\s*$/.exec(text.slice(Math.max(0, end - 50), end))?.[0].length ?? 0
}
