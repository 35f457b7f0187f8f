/** The amount that each scenario sends. */
export interface Doses {
  /** Seconds of load of a scenario that sends by the clock. */
  readonly seconds: number
  /** The steps of the scenario of buffered requests. */
  readonly connections: readonly number[]
  /** Length of each step. */
  readonly step: { readonly seconds: number } | { readonly requests: number }
  /** Seconds of load before the first measurement: a new process compiles its code. */
  readonly warmUpSeconds: number
  /** Tokens of an answer. */
  readonly tokens: number
  readonly streamsPerSecond: number
  /** Pace of a simulated stream. */
  readonly eventsPerSecond: number
  readonly largeBytes: number
  readonly largePerSecond: number
  /** Rate of the scenarios of many keys and of failover. */
  readonly perSecond: number
  readonly refusalsPerSecond: number
  /** The trace is played so many times as fast as it was recorded. */
  readonly speed: number
  /** Requests of the accounting. */
  readonly accounted: number
}

export interface DoseOptions {
  readonly seconds: number
  /** Requests per second; null: the default. */
  readonly rate: number | null
  readonly connections: number
  readonly speed: number | null
}

const LADDER = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]
/** A deployment may be in use, and may cost money. */
const DEPLOYMENT_RATE = 5
const MAX_STEP_REQUESTS = 5_000

export function dosesFor(kind: 'laboratory' | 'deployment', options: DoseOptions): Doses {
  const { seconds, connections: most } = options
  const connections = LADDER.filter((count) => count < most).concat(most)
  if (kind === 'laboratory') {
    return {
      seconds,
      connections,
      step: { seconds: Math.max(1, Math.round(seconds / 4)) },
      warmUpSeconds: Math.min(3, seconds),
      tokens: 40,
      streamsPerSecond: options.rate ?? 40,
      eventsPerSecond: 50,
      largeBytes: 512 * 1024,
      largePerSecond: 8,
      perSecond: options.rate ?? 200,
      refusalsPerSecond: options.rate ?? 200,
      speed: options.speed ?? 10,
      accounted: 200,
    }
  }
  const rate = options.rate ?? DEPLOYMENT_RATE
  return {
    seconds,
    connections: connections.filter((count) => count <= Math.max(1, rate)),
    step: { requests: Math.min(MAX_STEP_REQUESTS, Math.max(Math.ceil(rate), Math.round(rate * seconds))) },
    warmUpSeconds: 0,
    tokens: 40,
    streamsPerSecond: rate,
    eventsPerSecond: 50,
    largeBytes: 64 * 1024,
    largePerSecond: Math.min(2, rate),
    perSecond: rate,
    refusalsPerSecond: Math.min(5, rate),
    speed: options.speed ?? 1,
    accounted: Math.min(200, Math.max(10, Math.round(rate * seconds))),
  }
}
