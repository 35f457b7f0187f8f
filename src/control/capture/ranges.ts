/** A part of a text that is redacted. */
export interface Range {
  readonly start: number
  readonly end: number
  readonly label: string
}

/** Sorts ranges, and joins those that overlap. */
export function joined(ranges: readonly Range[]): Range[] {
  const result: Range[] = []
  for (const range of [...ranges].sort((a, b) => a.start - b.start || b.end - a.end)) {
    const last = result.at(-1)
    if (last === undefined || range.start >= last.end) result.push(range)
    else if (range.end > last.end) result[result.length - 1] = { ...last, end: range.end }
  }
  return result
}
