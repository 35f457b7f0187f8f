import type { Clock } from './clock.ts'
import { PacedTimer } from './paced-timer.ts'

export interface LoopSamplerOptions {
  readonly clock: Clock
  readonly everyMs: number
  /** The interval of samples at rest. A stall that ends before the next sample is not seen then. */
  readonly restMs: number
  /** Asked after each sample. */
  readonly isAtRest: () => boolean
  /** Gets the milliseconds by which the sample is late. */
  readonly onSample: (lateMs: number) => void
  readonly onFault: (cause: unknown) => void
}

/** Measures how late the event loop is: often while it works, rarely at rest. */
export class LoopSampler {
  readonly #options: LoopSamplerOptions
  readonly #timer: PacedTimer
  #dueUs: number

  constructor(options: LoopSamplerOptions) {
    this.#options = options
    const { clock, everyMs, onFault } = options
    this.#dueUs = clock.monotonicUs() + everyMs * 1000
    this.#timer = new PacedTimer(everyMs, () => this.#sample(), onFault)
  }

  /** Ends a rest: the next sample is due within `everyMs`. */
  wake(): void {
    const { clock, everyMs } = this.#options
    this.#dueUs = Math.min(this.#dueUs, clock.monotonicUs() + everyMs * 1000)
    this.#timer.within(everyMs)
  }

  stop(): void {
    this.#timer.stop()
  }

  #sample(): number {
    const { clock, everyMs, restMs, isAtRest, onSample } = this.#options
    const nowUs = clock.monotonicUs()
    const lateMs = Math.max(0, (nowUs - this.#dueUs) / 1000)
    // Set before the calls, which may throw.
    this.#dueUs = nowUs + everyMs * 1000
    onSample(lateMs)
    if (!isAtRest()) return everyMs
    this.#dueUs = nowUs + restMs * 1000
    return restMs
  }
}

/** Below this share of time at work, an event loop is at rest. */
const REST_SHARE = 0.1

/** Returns a function that tells whether the event loop has rested since its last call: it had work for less than this share of the time. */
export function loopRest(share = REST_SHARE): () => boolean {
  let last = performance.eventLoopUtilization()
  return () => {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, last)
    last = now
    return utilization < share
  }
}
