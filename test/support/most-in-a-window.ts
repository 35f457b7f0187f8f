const WINDOW_MS = 60_000

/** The most that was charged in any 60 seconds; `charges` in order of time. */
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
