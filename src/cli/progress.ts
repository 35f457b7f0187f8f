import { SingleBar } from 'cli-progress'
import type { Output } from './output.ts'

/** A progress bar on standard error, only when that is a terminal and `--json` is not set. */
export class Progress {
  readonly #bar: SingleBar | null

  constructor(what: string, total: number, output: Output) {
    const isSeen = process.stderr.isTTY && !output.isJson && total > 0
    this.#bar = isSeen
      ? new SingleBar({ stream: process.stderr, format: `${what} {bar} {value}/{total}`, clearOnComplete: true })
      : null
    this.#bar?.start(total, 0)
  }

  step(): void {
    this.#bar?.increment()
  }

  /** Removes the bar. */
  end(): void {
    this.#bar?.stop()
  }
}
