import { readFileSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const TESTS = fileURLToPath(new URL('../../', import.meta.url))
/** How many bugs of other gateways, and how many pitfalls of their protocols, translation is measured by. */
const COUNTS = { bug: 37, pitfall: 20 } as const
/** The name of a test, or of a group of them. */
const NAME = /\b(?:it|describe)(?:\.each\([^]*?\))?\(\s*['"`]([^\n]*)/g
/** As names have them: "bug 1, pitfall 1: …", "bugs 6, 7 and 12: …". */
const NUMBERS = /\b(bug|pitfall)s? (\d+(?:(?:, | and )\d+)*)/g

it.each(['bug', 'pitfall'] as const)('each published %s of translation has a test named after it', (kind) => {
  const named = new Set<number>()
  for (const file of readdirSync(TESTS, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.test.ts')) continue
    for (const [, name = ''] of readFileSync(TESTS + file, 'utf8').matchAll(NAME)) {
      for (const [, what, numbers = ''] of name.matchAll(NUMBERS)) {
        if (what === kind) for (const number of numbers.match(/\d+/g) ?? []) named.add(Number(number))
      }
    }
  }
  const all = Array.from({ length: COUNTS[kind] }, (_, at) => at + 1)
  expect(all.filter((number) => !named.has(number))).toEqual([])
})
