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

  it.each([
    ['that refer to elsewhere', { ...OBJECT, properties: { a: { $ref: 'https://example.com/schema' } } }],
    ['that are too large', { ...OBJECT, description: 'x'.repeat(100_000) }],
    ['that are wrong', { ...OBJECT, properties: { a: { type: 'nothing' } } }],
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

  it('of a schema that doubles its work with each level are stopped', () => {
    const branch = { properties: { a: { $ref: '#/$defs/d' } }, minProperties: 1 }
    const double = { anyOf: [branch, branch] }
    const schema = { ...OBJECT, $defs: { d: double }, properties: { a: { $ref: '#/$defs/d' } } }
    let input: Record<string, unknown> = {}
    for (let depth = 0; depth < 40; depth++) input = { a: input }
    expect(() => {
      new ArgumentCheck().check('a', schema, input)
    }).toThrow('take too long')
  })
})
