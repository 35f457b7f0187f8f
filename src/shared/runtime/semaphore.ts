/** So many at the same time; the others wait, the first to come goes first. */
export class Semaphore {
  readonly #waiting: Array<() => void> = []
  #free: number

  constructor(places: number) {
    this.#free = places
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1
    // The place is handed over: who comes meanwhile waits behind.
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#free += 1
      else next()
    }
  }
}
