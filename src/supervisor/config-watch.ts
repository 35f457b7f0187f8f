import { statSync } from 'node:fs'
import type { Stats } from 'node:fs'
import { stat } from 'node:fs/promises'
import { repeat } from '../shared/runtime/repeat.ts'

const LOOK_EVERY_MS = 1_000

/** By path: what a file looked like, before it was read. */
export type FileStates = ReadonlyMap<string, string>

/** The state of a file at this moment. */
export function fileState(file: string): string {
  try {
    return stateOf(statSync(file))
  } catch (cause) {
    return failureOf(cause)
  }
}

/**
 * Looks at files once a second, and calls `onChange` when one of them differs from its state and then stays the same for one look: a
 * program may write a file in parts. Looks, and does not wait for events, because a link to another directory and a mounted file give
 * none.
 */
export class ConfigWatch {
  readonly #onChange: () => void
  #known: FileStates
  #last: FileStates | null = null
  #isLooking = false
  readonly #timer: NodeJS.Timeout

  constructor(states: FileStates, onChange: () => void, onFault: (cause: unknown) => void) {
    this.#onChange = onChange
    this.#known = states
    const begin = (): void => {
      this.look().catch(onFault)
    }
    this.#timer = repeat(LOOK_EVERY_MS, begin, onFault).unref()
  }

  /** Watches other files from now on. */
  follow(states: FileStates): void {
    this.#known = states
    this.#last = null
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  /** Has no effect while another look is under way: a file system may hang. */
  async look(): Promise<void> {
    if (this.#isLooking) return
    const known = this.#known
    this.#isLooking = true
    try {
      const now = new Map(await Promise.all([...known.keys()].map(stateNow)))
      // Other files are watched meanwhile.
      if (known !== this.#known) return
      const isSteady = this.#last !== null && isSame(now, this.#last)
      this.#last = now
      if (!isSteady || isSame(now, known)) return
      this.#known = now
    } finally {
      this.#isLooking = false
    }
    this.#onChange()
  }
}

async function stateNow(file: string): Promise<[file: string, state: string]> {
  try {
    return [file, stateOf(await stat(file))]
  } catch (cause) {
    return [file, failureOf(cause)]
  }
}

function stateOf({ dev, ino, size, mtimeMs }: Stats): string {
  return `${dev}:${ino}:${size}:${mtimeMs}`
}

function failureOf(cause: unknown): string {
  return (cause as NodeJS.ErrnoException).code ?? 'unreadable'
}

function isSame(one: FileStates, other: FileStates): boolean {
  return one.size === other.size && [...one].every(([file, state]) => other.get(file) === state)
}
