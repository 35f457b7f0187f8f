import { repeat } from '../../shared/runtime/repeat.ts'
import { memoryMbOfTree } from './process-use.ts'
import type { MemorySample } from './result.ts'

const EVERY_MS = 1_000
/** Longer benches keep each second sample, then each fourth, and so on. */
const MAX_SAMPLES = 1_000

/** Samples the memory of a gateway once a second. */
export class MemorySampler {
  readonly #startMs: number
  #samples: MemorySample[] = []
  #timer: NodeJS.Timeout | null = null
  #every = 1
  #ticks = 0

  /** @param pid root process; null: the gateway runs elsewhere, and there are no samples */
  constructor(pid: number | null, startMs: number) {
    this.#startMs = startMs
    if (pid === null) return
    // A process that ends meanwhile has no memory to read: the next sample has the others.
    this.#timer = repeat(
      EVERY_MS,
      () => {
        this.#sample(pid)
      },
      () => undefined,
    )
    this.#sample(pid)
  }

  get samples(): readonly MemorySample[] {
    return this.#samples
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer)
  }

  #sample(pid: number): void {
    if (this.#ticks++ % this.#every !== 0) return
    this.#samples.push({ at: (performance.now() - this.#startMs) / 1000, mb: memoryMbOfTree(pid) })
    if (this.#samples.length < MAX_SAMPLES) return
    this.#samples = this.#samples.filter((_, index) => index % 2 === 0)
    this.#every *= 2
  }
}
