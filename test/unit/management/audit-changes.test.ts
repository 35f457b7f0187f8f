import { describe, expect, it } from 'vitest'
import { changedFields } from '../../../src/control/management/audit-changes.ts'

const fieldsOf = (before: unknown, after: unknown): unknown => JSON.parse(changedFields({ before, after }))

describe('the changed fields of an entry of the audit log', () => {
  it('are those that differ, with their old and new values', () => {
    const before = { name: 'a', rpm: null, prices: { input: 1, tiers: [1] }, spend: { spent: 1 }, updated_at: 'x' }
    const after = { name: 'a', rpm: 5, prices: { input: 2, tiers: [1, 2] }, spend: { spent: 2 }, updated_at: 'y' }
    expect(fieldsOf(before, after)).toEqual([
      { field: 'rpm', old: null, new: 5 },
      { field: 'prices.input', old: 1, new: 2 },
      { field: 'prices.tiers', old: [1], new: [1, 2] },
    ])
    expect(fieldsOf(after, after)).toEqual([])
  })

  it('are all of what was made or deleted', () => {
    expect(fieldsOf(null, { id: 'x', name: 'a', none: null })).toEqual([{ field: 'name', old: null, new: 'a' }])
    expect(fieldsOf({ id: 'x', name: 'a' }, null)).toEqual([{ field: 'name', old: 'a', new: null }])
    expect(fieldsOf(undefined, null)).toEqual([])
  })

  it('hide secrets, at any depth and in lists', () => {
    const text = changedFields({
      before: { password: 'old-secret', list: [{ credential: 'old-secret' }] },
      after: { password: 'new-secret', list: [{ credential: 'new-secret', weight: 1 }], key: 'new-secret' },
    })
    expect(text).not.toContain('secret')
    expect(JSON.parse(text)).toContainEqual({ field: 'key', old: null, new: '[hidden]' })
  })

  it('are bounded: long values are cut, and too many fields counted', () => {
    expect(fieldsOf(null, { text: 'x'.repeat(5_000) })).toEqual([
      { field: 'text', old: null, new: '[left out: 5002 characters]' },
    ])
    const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`field_${index}`, index]))
    const fields = fieldsOf(null, many) as Array<{ field: string; new: unknown }>
    expect(JSON.stringify(fields).length).toBeLessThan(20_000)
    expect(fields.at(-1)).toEqual({ field: '*', old: null, new: `${5_000 - fields.length + 1} more fields` })
    let deep: unknown = 1
    for (let depth = 0; depth < 1_000; depth++) deep = { deep }
    expect(JSON.stringify(fieldsOf(null, deep)).length).toBeLessThan(2_000)
  })
})
