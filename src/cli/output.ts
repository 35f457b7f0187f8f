/** Prints the result of a command on standard output: lines for people, or with `--json` one JSON value. */
export class Output {
  readonly isJson: boolean

  constructor(isJson: boolean) {
    this.isJson = isJson
  }

  /** Prints a line for people; nothing with `--json`. */
  line(text: string): void {
    if (!this.isJson) process.stdout.write(`${text}\n`)
  }

  /** Prints the JSON value for programs; nothing without `--json`. */
  value(value: unknown): void {
    if (this.isJson) process.stdout.write(`${JSON.stringify(value, withoutBigInt)}\n`)
  }

  /** Prints to standard error, with `--json` too. */
  note(text: string): void {
    process.stderr.write(`sluice: ${text}\n`)
  }

  failure(message: string, more: object = {}): void {
    this.value({ error: { message, ...more } })
    if (!this.isJson) this.note(message)
  }

  /** Prints rows in columns, each as wide as its longest cell. */
  table(rows: ReadonlyArray<readonly string[]>): void {
    const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)))
    for (const row of rows)
      this.line(
        row
          .map((cell, at) => cell.padEnd(widths[at] ?? 0))
          .join('  ')
          .trimEnd(),
      )
  }
}

/** Writes a bigint as a string: sums of money may exceed the exact range of JSON numbers. */
function withoutBigInt(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value
}
