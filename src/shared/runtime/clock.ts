/** Time as a dependency: `now` is wall-clock Unix milliseconds, `monotonicUs` never goes back. */
export interface Clock {
  now(): number
  monotonicUs(): number
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicUs: () => Math.round(performance.now() * 1000),
}
