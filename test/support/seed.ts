/** The seed of every random choice in the tests. It is fixed, so that runs are reproducible; `SLUICE_TEST_SEED` sets another. */
export const TEST_SEED = seedOf(process.env['SLUICE_TEST_SEED'] ?? '20261123')

function seedOf(text: string): number {
  const seed = Number(text)
  if (!Number.isSafeInteger(seed)) throw new Error(`SLUICE_TEST_SEED must be a whole number, not ${text}`)
  return seed
}
