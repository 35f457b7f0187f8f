import { getHeapStatistics } from 'node:v8'
import { loopRest } from './loop-sampler.ts'

export interface RestCollectorOptions {
  /** Whether the process has had next to nothing to do since the last call. Default: its event loop worked for less than `BUSY_SHARE` of the time. */
  readonly hasRested?: () => boolean
  /** Bytes of live objects and of garbage. Default: those of this thread's heap, and of its buffers. */
  readonly usedBytes?: () => number
  /** Collects garbage. Default: V8's own collection, which `--expose-gc` offers; undefined: nothing is collected. */
  readonly collect?: (() => void) | undefined
}

/** Open streams and some requests a second, such as health checks, leave a process at rest. */
const BUSY_SHARE = 0.01
/** A collection pauses the process for tens of milliseconds. This much garbage is that of hundreds of requests, so few of them meet a pause. */
const MIN_GARBAGE_BYTES = 16 * 1024 * 1024

/**
 * Collects garbage when a process has come to rest. V8 looks for garbage only when something is allocated: without this, a process at rest
 * keeps the memory of its last load.
 */
export class RestCollector {
  readonly #hasRested: () => boolean
  readonly #usedBytes: () => number
  readonly #collect: (() => void) | undefined
  /** After the last collection, or less when V8 has collected since. */
  #keptBytes = 0

  constructor(options: RestCollectorOptions = {}) {
    this.#hasRested = options.hasRested ?? loopRest(BUSY_SHARE)
    this.#usedBytes = options.usedBytes ?? heapBytes
    this.#collect = 'collect' in options ? options.collect : ownCollection()
  }

  /** To be called every few seconds. */
  check(): void {
    if (!this.#hasRested() || this.#collect === undefined) return
    const usedBytes = this.#usedBytes()
    this.#keptBytes = Math.min(this.#keptBytes, usedBytes)
    if (usedBytes - this.#keptBytes < MIN_GARBAGE_BYTES) return
    this.#collect()
    this.#keptBytes = this.#usedBytes()
  }
}

function ownCollection(): (() => void) | undefined {
  const { gc } = globalThis
  return gc === undefined ? undefined : () => void gc()
}

function heapBytes(): number {
  const { used_heap_size: objects, external_memory: buffers } = getHeapStatistics()
  return objects + buffers
}
