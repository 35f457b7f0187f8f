import type { Clock } from '../../shared/runtime/clock.ts'
import { repeat } from '../../shared/runtime/repeat.ts'

/** Tells by how much the event loop is late, again and again. */
export class LoopSampler {
  readonly #timer: NodeJS.Timeout

  /** @param onSample is given the milliseconds by which it is called later than `everyMs` after the last time */
  constructor(clock: Clock, everyMs: number, onSample: (lateMs: number) => void, onFault: (cause: unknown) => void) {
    let lastUs = clock.monotonicUs()
    const sample = (): void => {
      const nowUs = clock.monotonicUs()
      const lateMs = Math.max(0, (nowUs - lastUs) / 1000 - everyMs)
      lastUs = nowUs
      onSample(lateMs)
    }
    this.#timer = repeat(everyMs, sample, onFault)
  }

  stop(): void {
    clearInterval(this.#timer)
  }
}
