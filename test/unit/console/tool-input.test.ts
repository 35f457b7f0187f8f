import { expect, it } from 'vitest'
import { fieldsOf, inputOf, isValid } from '../../../src/console/pages/tools/tool-input.ts'

const SCHEMA = {
  type: 'object',
  properties: {
    query: { type: 'string', description: 'Words' },
    most: { type: 'integer' },
    order: { enum: ['new', 'old'] },
    isExact: { type: 'boolean' },
    filter: { type: 'object' },
  },
  required: ['query'],
}

it('a form from a schema has a field for each property', () => {
  expect(fieldsOf(SCHEMA).map(({ name, kind, isRequired }) => [name, kind, isRequired])).toEqual([
    ['query', 'text', true],
    ['most', 'integer', false],
    ['order', 'choice', false],
    ['isExact', 'switch', false],
    ['filter', 'json', false],
  ])
  expect(fieldsOf({})).toEqual([])
})

it('its input has the types of the schema, without what is empty', () => {
  const fields = fieldsOf(SCHEMA)
  expect(inputOf(fields, { query: 'a' })).toEqual({ query: 'a' })
  const draft = { query: 'a', most: '-7', order: 'new', isExact: 'true', filter: '{"a": [1]}' }
  expect(inputOf(fields, draft)).toEqual({ query: 'a', most: -7, order: 'new', isExact: true, filter: { a: [1] } })
  expect(inputOf(fields, { query: 'a', most: '-1 000' })).toEqual({ query: 'a', most: -1_000 })
})

it('tells what is no value of a field', () => {
  const [, most, , , filter] = fieldsOf(SCHEMA)
  if (most === undefined || filter === undefined) throw new Error('The schema has these.')
  expect(['7', '-7', '', '7.5', 'many'].map((text) => isValid(most, text))).toEqual([true, true, true, false, false])
  expect(['{}', '[1', ''].map((text) => isValid(filter, text))).toEqual([true, false, true])
})
