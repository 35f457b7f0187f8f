import { describe, expect, it } from 'vitest'
import { newRequestId, timeOfRequestId } from '../../../src/shared/core/request-id.ts'
import { decodeLogCursor, encodeLogCursor } from '../../../src/control/store/request-log.ts'
import { containsPattern, storableText } from '../../../src/control/store/text.ts'
import fc from '../../support/fast-check.ts'

describe('a log cursor', () => {
  it('gives back the row it was made of', () => {
    fc.assert(
      fc.property(fc.nat(), fc.uuid(), (atMs, id) => {
        expect(decodeLogCursor(encodeLogCursor({ atMs, id }))).toEqual({ atMs, id })
      }),
    )
  })

  it('is refused when it is none, whatever the text', () => {
    for (const cursor of ['', 'x', '!!', Buffer.from('12').toString('base64url')]) {
      expect(() => decodeLogCursor(cursor)).toThrow(RangeError)
    }
  })
})

describe('storable text', () => {
  it('has neither NUL nor half a surrogate pair, and keeps everything else', () => {
    expect(storableText('a\0b\ud800c\udfffd😀é')).toBe('a\uFFFDb\uFFFDc\uFFFDd😀é')
  })
})

describe('a request id', () => {
  it('tells when its request arrived', () => {
    for (const atMs of [Date.UTC(2000, 0), Date.UTC(2026, 5, 1, 1, 2, 3, 4), Date.UTC(2050, 0)]) {
      expect(timeOfRequestId(newRequestId(atMs))).toBe(atMs)
    }
  })

  it('of somebody else tells nothing', () => {
    const ours = newRequestId(Date.UTC(2026, 0))
    for (const id of ['', 'req_1', ours.toUpperCase(), ` ${ours}`, `${ours}0`, ours.slice(0, -1)]) {
      expect(timeOfRequestId(id)).toBeNull()
    }
  })
})

describe('a search pattern', () => {
  it('takes wildcards literally', () => {
    expect(containsPattern('50%_\\')).toBe('%50\\%\\_\\\\%')
  })
})
