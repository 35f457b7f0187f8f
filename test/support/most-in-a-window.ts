const WINDOW_MS = 60_000

/** The largest sum of charges in any 60 seconds. @param charges in order of time */
export function mostInAWindow(charges: ReadonlyArray<readonly [atMs: number, amount: number]>): number {
  let most = 0
  let sum = 0
  let from = 0
  for (const [atMs, amount] of charges) {
    sum += amount
    for (let oldest = charges[from]; oldest !== undefined && oldest[0] <= atMs - WINDOW_MS; oldest = charges[from]) {
      sum -= oldest[1]
      from += 1
    }
    most = Math.max(most, sum)
  }
  return most
}

/** A lower bound for the fullest 60 seconds: counts only charges that lie in the window for any time from `fromMs` to `toMs`. */
export function mostSurelyInAWindow(
  charges: ReadonlyArray<{ readonly fromMs: number; readonly toMs: number; readonly amount: number }>,
): number {
  const inWindow = (startMs: number): number =>
    charges
      .filter(({ fromMs, toMs }) => fromMs >= startMs && toMs < startMs + WINDOW_MS)
      .reduce((sum, { amount }) => sum + amount, 0)
  return Math.max(0, ...charges.map(({ fromMs }) => inWindow(fromMs)))
}
