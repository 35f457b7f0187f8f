import { describe, expect, it } from 'vitest'
import { scanJson } from '../../../src/front/validation/json-scan.ts'
import type { JsonScan } from '../../../src/front/validation/json-scan.ts'
import { refusal } from './refusal.ts'
import fc from '../../support/fast-check.ts'

const limits = { maxDepth: 64, maxElements: 1_000_000 }
const scan = (text: string | Buffer): JsonScan => scanJson(Buffer.from(text), limits)

/** A JSON text of `value` with random space between its tokens and random escapes in its strings. */
function spell(value: unknown, next: () => number): string {
  const space = () => [' ', '\n', '\t', '\r', '', '', '', ''][next() % 8] ?? ''
  const quote = (text: string) =>
    `"${[
      ...JSON.stringify(text)
        .slice(1, -1)
        .matchAll(/\\u[\da-f]{4}|\\.|[^\\]/gsu),
    ]
      .map(([character]) => (character.length === 1 && next() % 8 === 0 ? escape(character) : character))
      .join('')}"`
  const list = (items: string[]) => items.join(`${space()},${space()}`)
  if (typeof value === 'string') return quote(value)
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  if (Array.isArray(value)) return `[${space()}${list(value.map((item) => spell(item, next)))}${space()}]`
  const members = Object.entries(value).map(([name, item]) => `${quote(name)}${space()}:${space()}${spell(item, next)}`)
  return `{${space()}${list(members)}${space()}}`
}

function escape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

function countElements(value: unknown): number {
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + countElements(item), 1)
  if (typeof value !== 'object' || value === null) return 1
  return Object.values(value).reduce<number>((sum, item) => sum + 1 + countElements(item), 1)
}

const randomness = fc.array(fc.nat(1000), { minLength: 50, maxLength: 50 }).map((numbers) => {
  let turn = 0
  return () => numbers[turn++ % numbers.length] ?? 0
})
const member = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom('model', 'messages', 'tools', 'system', 'content', 'data', 'stream_options', '\\', '"', 'a"\\'),
)

describe('scanJson', () => {
  it('finds the members that JSON.parse finds, where they stand', () => {
    const objects = fc.dictionary(member, fc.jsonValue({ stringUnit: 'binary', maxDepth: 4 }), {
      noNullPrototype: true,
    })
    fc.assert(
      fc.property(objects, randomness, (object, next) => {
        const bytes = Buffer.from(` ${spell(object, next)}\n`)
        const parsed = JSON.parse(bytes.toString()) as Record<string, unknown>
        const { members, exceeded, nameProblem, elements } = scanJson(bytes, limits)

        expect(exceeded).toBeNull()
        // A name of __proto__ is reported; no other name comes twice out of an object.
        expect(nameProblem?.kind).not.toBe('duplicate')
        expect(elements).toBe(countElements(parsed))
        expect(members.map(({ name }) => name).sort()).toEqual(Object.keys(parsed).sort())
        for (const { name, start, valueStart, valueEnd } of members) {
          const value: unknown = JSON.parse(bytes.subarray(valueStart, valueEnd).toString())
          expect(value).toEqual(parsed[name])
          expect(JSON.parse(`{${bytes.subarray(start, valueEnd).toString()}}`)).toEqual({ [name]: value })
        }
      }),
      { numRuns: 500 },
    )
  })

  it('finds exactly the names that stand twice at the top level', () => {
    const names = fc.array(fc.oneof(fc.constantFrom('a', 'b', 'model', 'é', '\\'), fc.string({ unit: 'binary' })), {
      maxLength: 40,
    })
    fc.assert(
      fc.property(names, randomness, (list, next) => {
        const wanted = list.filter((name) => name !== '__proto__')
        const body = `{${wanted
          .map((name) =>
            spell({ [name]: 1 }, next)
              .trim()
              .slice(1, -1),
          )
          .join()}}`

        expect(scan(body).nameProblem?.kind).toBe(new Set(wanted).size < wanted.length ? 'duplicate' : undefined)
      }),
      { numRuns: 500 },
    )
  })

  it('survives any bytes', () => {
    const pieces = fc.constantFrom(
      ...'{}[]",:\\ '.split(''),
      '"messages":[{',
      '"content":[',
      '1',
      'true',
      '\\u00',
      '"__proto__"',
    )
    const soup = fc.array(pieces, { maxLength: 60 }).map((list) => Buffer.from(list.join('')))
    const bytes = fc.uint8Array({ maxLength: 300 }).map((list) => Buffer.from(list))
    fc.assert(
      fc.property(fc.oneof(soup, bytes), (body) => {
        const { members } = scanJson(body, limits)

        for (const span of members) expect(span.valueEnd).toBeLessThanOrEqual(body.length)
        refusal('chat.completions', body)
        refusal('messages', body)
      }),
      { numRuns: 2000 },
    )
  })

  it('survives any damage to a valid body', () => {
    const valid = Buffer.from(
      JSON.stringify({
        model: 'm',
        max_tokens: 5,
        messages: [{ role: 'user', content: [{ type: 'text', text: 'Grüße "x" \\ 😀' }] }],
        tools: [{ function: { name: 'f', parameters: { type: 'object' } } }],
        system: [{ type: 'text', text: '' }],
        stream_options: { include_usage: true },
      }),
    )
    const damage = fc.array(
      fc.tuple(fc.nat(valid.length), fc.integer({ min: 0, max: 3 }), fc.uint8Array({ maxLength: 4 })),
      {
        minLength: 1,
        maxLength: 4,
      },
    )
    fc.assert(
      fc.property(damage, (cuts) => {
        let body = valid
        for (const [at, drop, insert] of cuts) {
          body = Buffer.concat([body.subarray(0, at), Buffer.from(insert), body.subarray(at + drop)])
        }

        for (const endpoint of ['chat.completions', 'messages', 'messages.count_tokens'] as const) {
          expect(refusal(endpoint, body)?.code).not.toBe('INTERNAL')
        }
      }),
      { numRuns: 2000 },
    )
  })

  it.each([0, 1, 2, 3, 94, 95, 96, 97, 98, 99, 200, 5000])(
    'finds the end of a string of %i bytes, whatever stands before its quote',
    (length) => {
      for (const tail of ['', '\\', '\\\\', '"', '"\\', '\\"', 'é', 'ab"c\\\\"d']) {
        const value = 'x'.repeat(length) + tail
        const bytes = Buffer.from(JSON.stringify({ a: value, b: [value, value] }))
        const [first, second] = scan(bytes).members

        expect(JSON.parse(bytes.subarray(first?.valueStart, first?.valueEnd).toString())).toBe(value)
        expect(JSON.parse(bytes.subarray(second?.valueStart, second?.valueEnd).toString())).toEqual([value, value])
      }
    },
  )

  it('counts the text of values, not of names', () => {
    expect(scan('{"name":"12345","list":["67","8",true,9]}')).toMatchObject({ textBytes: 8, blobs: 0, elements: 9 })
  })

  it('counts pictures and files apart from text', () => {
    const base64 = 'iVBORw0KGgo+/'.repeat(400)
    const url = `data:image/png;base64,${base64}`

    expect(scan(JSON.stringify({ image_url: { url } }))).toMatchObject({ textBytes: 0, blobs: 1 })
    expect(scan(JSON.stringify({ source: { data: base64 }, file: { file_data: base64 } }))).toMatchObject({ blobs: 2 })
    expect(scan(JSON.stringify({ content: base64 }))).toMatchObject({ textBytes: base64.length, blobs: 0 })
    expect(scan(JSON.stringify({ data: 'a few words '.repeat(500) }))).toMatchObject({ textBytes: 6000, blobs: 0 })
    expect(scan(JSON.stringify({ data: '文'.repeat(2000) }))).toMatchObject({ textBytes: 6000, blobs: 0 })
    expect(scan(JSON.stringify({ data: 'short' }))).toMatchObject({ textBytes: 5, blobs: 0 })
    expect(scan(JSON.stringify({ data: null, content: base64 }))).toMatchObject({ blobs: 0 })
    expect(scan(JSON.stringify({ data: [base64] }))).toMatchObject({ blobs: 0 })
  })
})
