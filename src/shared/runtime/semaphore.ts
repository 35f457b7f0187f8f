/** At most `concurrency` calls run at the same time. The others wait, first come, first served. */
export class Semaphore {
  readonly #waiting: Array<() => void> = []
  #free: number

  constructor(concurrency: number) {
    this.#free = concurrency
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1
    // The call that ends hands its permit to this one: a newcomer cannot overtake.
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
