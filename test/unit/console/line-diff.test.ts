import { describe, expect, it } from 'vitest'
import { lineDiff } from '../../../src/console/pages/tools/line-diff.ts'

const shown = (before: string, after: string): string[] =>
  lineDiff(before, after).map(({ kind, text }) => `${{ same: ' ', added: '+', removed: '-' }[kind]}${text}`)

describe('the lines of two texts', () => {
  it.each([
    ['a\nb\nc', 'a\nb\nc', [' a', ' b', ' c']],
    ['a\nb\nc', 'a\nx\nc', [' a', '-b', '+x', ' c']],
    ['a', 'a\nb', [' a', '+b']],
    ['a\nb', 'b', ['-a', ' b']],
    ['', 'a', ['-', '+a']],
  ])('from %j to %j', (before, after, lines) => {
    expect(shown(before, after)).toEqual(lines)
  })

  it('are all told where they are too many to be compared', () => {
    const many = Array.from({ length: 500 }, (_, at) => String(at)).join('\n')
    expect(lineDiff(many, `${many}\nmore`)).toHaveLength(1_001)
  })
})
