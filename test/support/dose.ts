import { inject, it } from 'vitest'

/**
 * The number of repetitions in a test: `short` in `npm test`, `long` in `npm run test:long`. The environment variable
 * `variable` overrides both. `DOSED` of `test/tiers.ts` lists the files that call it.
 */
export function dose(variable: string, { short, long }: { readonly short: number; readonly long: number }): number {
  const asked = process.env[variable]
  if (asked === undefined) return inject('tier') === 'long' ? long : short
  const count = Number(asked)
  if (!Number.isFinite(count) || count <= 0) throw new Error(`${variable} must be a positive number, not ${asked}`)
  return count
}

/** A test of the long tier alone, in a file that both run: `DOSED` of `test/tiers.ts` lists it. */
export const itLater = it.runIf(inject('tier') === 'long')

/** The first `short` of the cases in `npm test`, all of them in `npm run test:long`. `DOSED` of `test/tiers.ts` lists the file. */
export function firstCases<T>(short: number, cases: readonly T[]): readonly T[] {
  return inject('tier') === 'long' ? cases : cases.slice(0, short)
}
