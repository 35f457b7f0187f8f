import type { Clock } from '../../shared/runtime/clock.ts'
import { repeat } from '../../shared/runtime/repeat.ts'

/** Measures at a fixed interval how late the event loop is. */
export class LoopSampler {
  readonly #timer: NodeJS.Timeout

  /** @param onSample gets the milliseconds by which its call comes later than `everyMs` after the previous one */
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
