import { statfs } from 'node:fs/promises'
import { totalmem } from 'node:os'
import { performance } from 'node:perf_hooks'
import { getHeapStatistics } from 'node:v8'
import { repeat } from '../../shared/runtime/repeat.ts'
import { residentBytes } from '../../shared/runtime/resident-memory.ts'
import type { Signals } from './pressure.ts'

export interface ResourceOptions {
  /** Null: `MEMORY_SHARE` of the memory of the machine or its container, divided by `processes`. */
  readonly maxMemoryBytes: number | null
  readonly processes: number
  /** Free bytes on the disk of the journal. */
  readonly freeDiskBytes: () => Promise<number>
  readonly minFreeDiskBytes: number
  /** Bytes of records that could not be written yet. */
  readonly heldBytes: () => number
  readonly maxHeldBytes: number
  readonly onFault: (cause: unknown) => void
}

const MEMORY_SHARE = 0.75
/** `read` measures memory only every tenth time: a measurement costs 20 µs. */
const MEMORY_EVERY = 10
const DISK_EVERY_MS = 500

/** Memory, unwritten records and disk of this process, as shares of their limits, and how busy its event loop is. */
export class Resources {
  readonly #options: ResourceOptions
  readonly #maxMemoryBytes: number
  readonly #timer: NodeJS.Timeout
  #reads = 0
  #memoryShare = 0
  #diskFreeShare = Infinity
  #loopUse = performance.eventLoopUtilization()

  constructor(options: ResourceOptions) {
    this.#options = options
    const available = (availableMemory() * MEMORY_SHARE) / options.processes
    this.#maxMemoryBytes = options.maxMemoryBytes ?? available
    const measureDisk = (): void => {
      this.#measureDisk()
    }
    this.#timer = repeat(DISK_EVERY_MS, measureDisk, options.onFault)
    measureDisk()
  }

  /** The loop's share is that since the last call. */
  read(): Omit<Signals, 'loopDelayMs' | 'inFlightShare'> {
    if (this.#reads % MEMORY_EVERY === 0) this.#measureMemory()
    this.#reads += 1
    const before = this.#loopUse
    this.#loopUse = performance.eventLoopUtilization()
    return {
      loopBusyShare: performance.eventLoopUtilization(this.#loopUse, before).utilization,
      memoryShare: this.#memoryShare,
      journalShare: this.#options.heldBytes() / this.#options.maxHeldBytes,
      diskFreeShare: this.#diskFreeShare,
    }
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #measureMemory(): void {
    const { total_available_size: heapFree, heap_size_limit: heapLimit } = getHeapStatistics()
    const heapShare = 1 - heapFree / heapLimit
    this.#memoryShare = Math.max(residentBytes() / this.#maxMemoryBytes, heapShare)
  }

  #measureDisk(): void {
    const { freeDiskBytes, minFreeDiskBytes } = this.#options
    freeDiskBytes().then(
      (free) => {
        this.#diskFreeShare = free / minFreeDiskBytes
      },
      // The journal reports a disk that fails: its writes fail too.
      () => undefined,
    )
  }
}

export async function freeDiskBytes(directory: string): Promise<number> {
  const { bavail, bsize } = await statfs(directory)
  return bavail * bsize
}

/** The container's memory limit, or the machine's memory when there is none. */
function availableMemory(): number {
  const constrained = process.constrainedMemory()
  return constrained > 0 && constrained < totalmem() ? constrained : totalmem()
}
