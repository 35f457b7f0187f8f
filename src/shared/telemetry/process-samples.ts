import { readdir } from 'node:fs/promises'
import { createHistogram } from 'node:perf_hooks'
import { getHeapStatistics } from 'node:v8'
import type { Clock } from '../runtime/clock.ts'
import { LoopSampler, loopRest } from '../runtime/loop-sampler.ts'
import { repeat } from '../runtime/repeat.ts'
import { residentBytes } from '../runtime/resident-memory.ts'
import type { Sample } from './metrics.ts'

const LOOP_EVERY_MS = 20
const LOOP_REST_MS = 250
const MAX_DELAY_US = 60_000_000
/** Significant digits of a delay: two take 20 KiB, three 180. */
const DELAY_DIGITS = 2
/** Listing the descriptors of a busy process takes milliseconds, though not on the event loop. */
const DESCRIPTORS_EVERY_MS = 10_000

/** The state of this process as its operating system and its runtime see it. */
export class ProcessSamples {
  readonly #process: string
  /** Microseconds. A delay of 0 is kept as 1, the least that the histogram takes. */
  readonly #delays = createHistogram({ lowest: 1, highest: MAX_DELAY_US, figures: DELAY_DIGITS })
  readonly #timer: NodeJS.Timeout
  #loopSampler: LoopSampler | null = null
  #descriptors: number | null = null

  /** @param name the value of the label `process` */
  constructor(name: string, onFault: (cause: unknown) => void) {
    this.#process = name
    const count = (): void => {
      this.#countDescriptors()
    }
    this.#timer = repeat(DESCRIPTORS_EVERY_MS, count, onFault).unref()
    count()
  }

  /** Measures the event loop in a process that does not do so for itself. */
  sampleLoop(clock: Clock, onFault: (cause: unknown) => void): void {
    this.#loopSampler = new LoopSampler({
      clock,
      everyMs: LOOP_EVERY_MS,
      restMs: LOOP_REST_MS,
      isAtRest: loopRest(),
      onSample: (lateMs) => {
        this.noteLoopDelay(lateMs)
      },
      onFault,
    })
  }

  noteLoopDelay(lateMs: number): void {
    this.#delays.record(Math.min(MAX_DELAY_US, Math.max(1, Math.round(lateMs * 1000))))
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
    if (this.#delays.count > 0) {
      samples.push(
        ['loopDelay', [this.#process, 'p50'], this.#delays.percentile(50) / 1_000_000],
        ['loopDelay', [this.#process, 'p99'], this.#delays.percentile(99) / 1_000_000],
        ['loopDelay', [this.#process, 'max'], this.#delays.max / 1_000_000],
      )
    }
    if (this.#descriptors !== null) samples.push(['descriptors', process_, this.#descriptors])
    this.#delays.reset()
    return samples
  }

  stop(): void {
    this.#loopSampler?.stop()
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
