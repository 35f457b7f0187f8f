import { describe, expect, it } from 'vitest'
import { checkedId, rowOfEnd, rowOfInterrupted } from '../../../src/control/settlement/rows.ts'
import { aBegin, anEnd } from '../../contract/journal-records.ts'
import { namedRow } from '../../contract/log-rows.ts'
import { fieldsOf } from '../../contract/test-journal.ts'

const NODE = 'node-1'

describe('a row', () => {
  it('of an interrupted request has no status and says so', () => {
    expect(namedRow(rowOfInterrupted(fieldsOf(aBegin('a')), NODE))).toMatchObject({
      id: 'a',
      status: null,
      errorType: 'server_error',
      errorCode: 'INTERRUPTED',
      settlement: 'interrupted',
      attempts: [],
    })
  })

  it('mends fractions and small negatives of time', () => {
    expect(rowOfEnd(fieldsOf(anEnd('a', { queueUs: -3, totalUs: 10.6 })), NODE)).toMatchObject({
      queueUs: 0,
      totalUs: 11,
    })
  })

  it.each([
    ['a number beyond 2^53', { totalUs: 2 ** 60 }],
    ['no number', { overheadUs: NaN }],
    ['an infinite number', { ttftUs: Infinity }],
    ['a day of another century', { atMs: 1e15 }],
    ['no day', { atMs: NaN }],
    ['a status that is none', { status: 70_000 }],
    ['no id', { id: '' }],
    ['an id no index takes', { id: 'x'.repeat(10_000) }],
  ])('is refused for %s', (_, changes) => {
    expect(() => rowOfEnd(fieldsOf(anEnd('a', changes)), NODE)).toThrow(RangeError)
  })

  it('holds no NUL in any text', () => {
    const row = rowOfEnd(fieldsOf(anEnd('a', { model: 'a\0b', userAgent: '\0', clientRequestId: '\ud800' })), NODE)
    expect(JSON.stringify(row)).not.toMatch(/\\u0000|\\ud800/)
    expect(checkedId('a\0')).toBe('a\uFFFD')
  })
})
