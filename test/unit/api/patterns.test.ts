import { expect, it } from 'vitest'
import { OPERATIONS } from '../../../src/shared/api/operations/index.ts'

/** Blank names are refused and need no example. */
const NOT_BLANK = '\\S'

it('has an example for every form that a field must have, which the error names', () => {
  const without: string[] = []
  let forms = 0
  for (const [name, { query, params, body }] of Object.entries<Readonly<Record<string, unknown>>>(OPERATIONS)) {
    walk({ query, params, body }, name)
  }
  expect(without).toEqual([])
  expect(forms).toBeGreaterThan(10)

  function walk(value: unknown, path: string): void {
    if (typeof value !== 'object' || value === null) return
    const { type, pattern, examples } = value as Readonly<Record<string, unknown>>
    if (pattern !== undefined) forms += 1
    // Engines of other languages do not know `[^]`.
    if (typeof pattern === 'string' && pattern.includes('[^]')) without.push(`${path}: [^]`)
    const needsExample = type === 'string' && typeof pattern === 'string' && pattern !== NOT_BLANK
    if (
      needsExample &&
      !(Array.isArray(examples) && examples.every((one) => new RegExp(pattern, 'u').test(String(one))))
    ) {
      without.push(path)
    }
    for (const [key, child] of Object.entries(value)) walk(child, `${path}.${key}`)
  }
})
