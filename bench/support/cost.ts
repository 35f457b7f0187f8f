import type { Relayed } from '../scenarios/relay.ts'
import { percentile } from './statistics.ts'

export type Unit = 'request' | 'event'

/** The cost of one round of load, per request or per event. */
export interface Cost {
  /** Microseconds of CPU of all processes of the program. */
  readonly cpuUs: number
  /** Microseconds of CPU of the control process, where the settler runs. */
  readonly controlUs: number
  readonly perSecond: number
  /** Milliseconds to the end of a buffered answer, or to the first event of a stream. */
  readonly p50Ms: number
  readonly p99Ms: number
  readonly memoryMb: number
  readonly errors: number
}

export function costOf({ result, cpuUs, memoryMb }: Relayed, unit: Unit): Cost {
  const count = unit === 'event' ? result.events : result.requests
  const tookMs = unit === 'event' ? result.firstByteMs : result.totalMs
  return {
    cpuUs: [...cpuUs.values()].reduce((sum, us) => sum + us, 0) / count,
    controlUs: (cpuUs.get('control') ?? 0) / count,
    perSecond: count / result.seconds,
    p50Ms: percentile(tookMs, 0.5),
    p99Ms: percentile(tookMs, 0.99),
    memoryMb,
    errors: result.errors,
  }
}
