import { describe, expect, it } from 'vitest'
import { tagsOfBody, tagsOfMessages, tagsOfRequest } from '../../../src/shared/core/tags.ts'
import { MAX_TAG_LENGTH, MAX_TAGS } from '../../../src/shared/records/tag-limits.ts'

const LONG = 'x'.repeat(MAX_TAG_LENGTH)

describe('tags of a body', () => {
  it('are its user, then its metadata', () => {
    expect(tagsOfBody('u-1', { team: 'red', run: 7, dry: false })).toEqual([
      ['user', 'u-1'],
      ['team', 'red'],
      ['run', '7'],
      ['dry', 'false'],
    ])
    expect(tagsOfMessages({ user_id: 'u-2', team: 'red' })).toEqual([['user_id', 'u-2']])
  })

  it('are null when there are none', () => {
    for (const [user, metadata] of [
      [undefined, undefined],
      [null, null],
      ['', {}],
      [{}, []],
      [[], 'text'],
    ]) {
      expect(tagsOfBody(user, metadata)).toBeNull()
    }
    for (const metadata of [undefined, null, {}, { user_id: '' }, { user_id: { a: 1 } }]) {
      expect(tagsOfMessages(metadata)).toBeNull()
    }
  })

  it('leave out what is no text, empty values, long names, and all beyond the eighth', () => {
    const metadata = { deep: { a: 1 }, list: ['a'], none: null, blank: '', [`${LONG}y`]: 'a', '': 'a', [LONG]: 'kept' }
    expect(tagsOfBody(undefined, metadata)).toEqual([[LONG, 'kept']])
    const many = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`n${index}`, 'v']))
    const tags = tagsOfBody('u', many)
    expect(tags).toHaveLength(MAX_TAGS)
    expect(tags?.at(-1)).toEqual(['n6', 'v'])
  })

  it('have long values cut, never within a character', () => {
    expect(tagsOfBody(`${LONG}y`, undefined)).toEqual([['user', LONG]])
    expect(tagsOfBody(`${LONG.slice(1)}😀`, undefined)).toEqual([['user', LONG.slice(1)]])
  })

  it('may have any name', () => {
    const metadata: unknown = JSON.parse('{"__proto__":"a","constructor":"b","toString":"c"}')
    expect(tagsOfBody(undefined, metadata)?.map(([name]) => name)).toEqual(['__proto__', 'constructor', 'toString'])
  })
})

describe('tags of a request', () => {
  it('are those of its headers, then those of its body; the first of a name counts', () => {
    const headers = { host: 'a', 'x-sluice-tag-team': ' blue ', 'x-sluice-tag-': 'no name', 'x-sluice-tag-run': '' }
    const body = tagsOfBody('u-1', { team: 'red' })
    expect(tagsOfRequest(headers, body)).toEqual([
      ['team', 'blue'],
      ['user', 'u-1'],
    ])
    expect(tagsOfRequest({ host: 'a' }, null)).toBeNull()
    const many = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`x-sluice-tag-n${index}`, 'v']))
    expect(tagsOfRequest(many, body)).toHaveLength(MAX_TAGS)
  })
})
