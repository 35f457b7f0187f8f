import { describe, expect, it } from 'vitest'
import { ArgumentCheck } from '../../../src/control/mcp/servers/argument-check.ts'

const OBJECT = { type: 'object' }

describe('arguments of tools', () => {
  it('are checked against the schema of the tool', () => {
    const check = new ArgumentCheck()
    const schema = {
      ...OBJECT,
      properties: { count: { type: 'integer' } },
      required: ['count'],
      additionalProperties: false,
    }
    check.check('a', schema, { count: 1 })
    for (const input of [{}, { count: 'x' }, { count: 1, more: 1 }]) {
      expect(() => {
        check.check('a', schema, input)
      }).toThrow(expect.objectContaining({ code: 'INVALID_FIELD' }) as Error)
    }
  })

  it('of schemas of older drafts, with ids of their own, are checked too', () => {
    const check = new ArgumentCheck()
    const schema = { ...OBJECT, $schema: 'http://json-schema.org/draft-07/schema#', $id: 'same', 'x-own': 1 }
    for (const digest of ['a', 'b']) check.check(digest, schema, {})
  })

  it.each(['http://json-schema.org/draft-07/schema#', 'https://json-schema.org/draft-06/schema'])(
    'are checked against a list of items of %s',
    ($schema) => {
      const check = new ArgumentCheck()
      const pair = { type: 'array', items: [{ type: 'string' }, { type: 'integer' }], additionalItems: false }
      const schema = { ...OBJECT, $schema, properties: { pair } }
      check.check('a', schema, { pair: ['x', 1] })
      for (const bad of [[1], ['x', 'y'], ['x', 1, 2]]) {
        expect(() => {
          check.check('a', schema, { pair: bad })
        }).toThrow(expect.objectContaining({ code: 'INVALID_FIELD' }) as Error)
      }
    },
  )

  it('are checked against a list of items of the draft of the protocol', () => {
    const check = new ArgumentCheck()
    const pair = { type: 'array', prefixItems: [{ type: 'string' }], items: false }
    const schema = { ...OBJECT, properties: { pair } }
    check.check('a', schema, { pair: ['x'] })
    expect(() => {
      check.check('a', schema, { pair: ['x', 1] })
    }).toThrow(expect.objectContaining({ code: 'INVALID_FIELD' }) as Error)
  })

  it.each([
    ['that refer to elsewhere', { ...OBJECT, properties: { a: { $ref: 'https://example.com/schema' } } }],
    ['that are too large', { ...OBJECT, description: 'x'.repeat(100_000) }],
    ['that are wrong', { ...OBJECT, properties: { a: { type: 'nothing' } } }],
    ['with a list of items that name no older draft', { ...OBJECT, properties: { a: { items: [{}] } } }],
  ])('of schemas %s are not taken', (_, schema) => {
    expect(() => {
      new ArgumentCheck().check('a', schema, {})
    }).toThrow('cannot be used')
  })

  it('are checked once the schema was read, after a moment in which the machine was too busy for it', () => {
    const check = new ArgumentCheck([1, 10_000])
    const properties = Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`p${at}`, { type: 'integer' }]))
    const schema = { ...OBJECT, properties }
    const ask = (): void => {
      check.check('a', schema, { p1: 1 })
    }
    expect(ask).toThrow('cannot be used')
    ask()
  })

  it.each([
    ['the draft of the protocol', {}],
    ['an older draft', { $schema: 'http://json-schema.org/draft-07/schema#' }],
  ])('of a schema of %s that doubles its work with each level are stopped', (_, draft) => {
    const branch = { properties: { a: { $ref: '#/$defs/d' } }, minProperties: 1 }
    const double = { anyOf: [branch, branch] }
    const schema = { ...OBJECT, ...draft, $defs: { d: double }, properties: { a: { $ref: '#/$defs/d' } } }
    let input: Record<string, unknown> = {}
    for (let depth = 0; depth < 40; depth++) input = { a: input }
    expect(() => {
      new ArgumentCheck().check('a', schema, input)
    }).toThrow('take too long')
  })
})
