import { inject } from 'vitest'

/**
 * How often a test repeats what it proves: `short` in `npm test`, `long` in `npm run test:long`; the environment variable
 * `variable` overrides both. Files that call it are listed in `DOSED` of `test/tiers.ts`.
 */
export function dose(variable: string, { short, long }: { readonly short: number; readonly long: number }): number {
  const asked = process.env[variable]
  if (asked === undefined) return inject('tier') === 'long' ? long : short
  const count = Number(asked)
  if (!Number.isFinite(count) || count <= 0) throw new Error(`${variable} must be a positive number, not ${asked}`)
  return count
}
