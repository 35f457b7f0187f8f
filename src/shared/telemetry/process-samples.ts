import { readdir } from 'node:fs/promises'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { IntervalHistogram } from 'node:perf_hooks'
import { getHeapStatistics } from 'node:v8'
import { repeat } from '../runtime/repeat.ts'
import { residentBytes } from '../runtime/resident-memory.ts'
import type { Sample } from './metrics.ts'

const RESOLUTION_MS = 10
/** Listing the descriptors of a busy process takes milliseconds, though not on the event loop. */
const DESCRIPTORS_EVERY_MS = 10_000

/** The state of this process as its operating system and its runtime see it. */
export class ProcessSamples {
  readonly #process: string
  readonly #delay: IntervalHistogram
  readonly #timer: NodeJS.Timeout
  #descriptors: number | null = null

  /** @param name the value of the label `process` */
  constructor(name: string, onFault: (cause: unknown) => void) {
    this.#process = name
    this.#delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
    this.#delay.enable()
    const count = (): void => {
      this.#countDescriptors()
    }
    this.#timer = repeat(DESCRIPTORS_EVERY_MS, count, onFault).unref()
    count()
  }

  /** The samples of this moment. The delay of the event loop is the one since the last call. */
  take(): Sample[] {
    const process_ = [this.#process]
    const { user, system } = process.cpuUsage()
    const samples: Sample[] = [
      ['residentMemory', process_, residentBytes()],
      ['heapUsed', process_, getHeapStatistics().used_heap_size],
      ['cpu', process_, (user + system) / 1_000_000],
    ]
    if (this.#delay.count > 0) {
      samples.push(
        ['loopDelay', [this.#process, 'p50'], lateness(this.#delay.percentile(50))],
        ['loopDelay', [this.#process, 'p99'], lateness(this.#delay.percentile(99))],
        ['loopDelay', [this.#process, 'max'], lateness(this.#delay.max)],
      )
    }
    if (this.#descriptors !== null) samples.push(['descriptors', process_, this.#descriptors])
    this.#delay.reset()
    return samples
  }

  stop(): void {
    this.#delay.disable()
    clearInterval(this.#timer)
  }

  #countDescriptors(): void {
    readdir('/proc/self/fd').then(
      (entries) => {
        this.#descriptors = entries.length
      },
      // Not every system has /proc.
      () => undefined,
    )
  }
}

/** In seconds. The values of the monitor include its own interval. */
function lateness(nanoseconds: number): number {
  return Math.max(0, nanoseconds / 1_000_000 - RESOLUTION_MS) / 1000
}
