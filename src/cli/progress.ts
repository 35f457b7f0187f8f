import { SingleBar } from 'cli-progress'
import type { Output } from './output.ts'

/** A bar on standard error, where somebody looks at it: on terminals, and not with `--json`. */
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

  /** Takes it away. */
  end(): void {
    this.#bar?.stop()
  }
}
