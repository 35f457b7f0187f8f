/** What a command says: lines for people on standard output, or with `--json` one JSON value. */
export class Output {
  readonly isJson: boolean

  constructor(isJson: boolean) {
    this.isJson = isJson
  }

  /** A line for people. */
  line(text: string): void {
    if (!this.isJson) process.stdout.write(`${text}\n`)
  }

  /** What came of it, for programs. */
  value(value: unknown): void {
    if (this.isJson) process.stdout.write(`${JSON.stringify(value, withoutBigInt)}\n`)
  }

  /** Beside the result, in any case. */
  note(text: string): void {
    process.stderr.write(`sluice: ${text}\n`)
  }

  failure(message: string, more: object = {}): void {
    this.value({ error: { message, ...more } })
    if (!this.isJson) this.note(message)
  }

  /** Columns as wide as they must be. */
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

/** Sums of money may be beyond what JSON's numbers hold exactly. */
function withoutBigInt(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value
}
