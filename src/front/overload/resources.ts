import { statfs } from 'node:fs/promises'
import { totalmem } from 'node:os'
import { getHeapStatistics } from 'node:v8'
import { repeat } from '../../shared/runtime/repeat.ts'
import { residentBytes } from '../../shared/runtime/resident-memory.ts'
import type { Signals } from './pressure.ts'

export interface ResourceOptions {
  /** Null: `MEMORY_SHARE` of what the machine or its container has, divided by `processes`. */
  readonly maxMemoryBytes: number | null
  readonly processes: number
  /** Free on the disk of the journal. */
  readonly freeDiskBytes: () => Promise<number>
  readonly minFreeDiskBytes: number
  /** Bytes of records that could not be written yet. */
  readonly heldBytes: () => number
  readonly maxHeldBytes: number
  readonly onFault: (cause: unknown) => void
}

const MEMORY_SHARE = 0.75
/** Memory is asked for at every tenth look only: the question costs 20 µs. */
const MEMORY_EVERY = 10
const DISK_EVERY_MS = 500

/** Memory and disk of this process, as shares of what it may take. */
export class Resources {
  readonly #options: ResourceOptions
  readonly #maxMemoryBytes: number
  readonly #timer: NodeJS.Timeout
  #asked = 0
  #memoryShare = 0
  #diskFreeShare = Infinity

  constructor(options: ResourceOptions) {
    this.#options = options
    const available = (availableMemory() * MEMORY_SHARE) / options.processes
    this.#maxMemoryBytes = options.maxMemoryBytes ?? available
    const askDisk = (): void => {
      this.#askDisk()
    }
    this.#timer = repeat(DISK_EVERY_MS, askDisk, options.onFault)
    askDisk()
  }

  read(): Omit<Signals, 'loopDelayMs' | 'inFlightShare'> {
    if (this.#asked % MEMORY_EVERY === 0) this.#askMemory()
    this.#asked += 1
    return {
      memoryShare: this.#memoryShare,
      journalShare: this.#options.heldBytes() / this.#options.maxHeldBytes,
      diskFreeShare: this.#diskFreeShare,
    }
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #askMemory(): void {
    const { total_available_size: heapFree, heap_size_limit: heapLimit } = getHeapStatistics()
    const heapShare = 1 - heapFree / heapLimit
    this.#memoryShare = Math.max(residentBytes() / this.#maxMemoryBytes, heapShare)
  }

  #askDisk(): void {
    const { freeDiskBytes, minFreeDiskBytes } = this.#options
    freeDiskBytes().then(
      (free) => {
        this.#diskFreeShare = free / minFreeDiskBytes
      },
      // A disk that does not answer shows where records are written.
      () => undefined,
    )
  }
}

export async function freeDiskBytes(directory: string): Promise<number> {
  const { bavail, bsize } = await statfs(directory)
  return bavail * bsize
}

/** Of the container where there is one, else of the machine. */
function availableMemory(): number {
  const constrained = process.constrainedMemory()
  return constrained > 0 && constrained < totalmem() ? constrained : totalmem()
}
