interface DiffLine {
  readonly kind: 'same' | 'added' | 'removed'
  readonly text: string
}

/** More lines than these are not compared one by one: the cost grows with their square. */
const MAX_LINES = 400

/** The lines of two texts, with those that were removed and added. */
export function lineDiff(before: string, after: string): DiffLine[] {
  const [old, next] = [before.split('\n'), after.split('\n')]
  if (old.length > MAX_LINES || next.length > MAX_LINES) {
    return [...old.map((text) => line('removed', text)), ...next.map((text) => line('added', text))]
  }
  const common = commonLengths(old, next)
  const lines: DiffLine[] = []
  let [at, to] = [0, 0]
  while (at < old.length || to < next.length) {
    const [left, right] = [old[at], next[to]]
    if (left !== undefined && left === right) {
      lines.push(line('same', left))
      at += 1
      to += 1
    } else if (
      right === undefined ||
      (left !== undefined && lengthAt(common, at + 1, to) >= lengthAt(common, at, to + 1))
    ) {
      lines.push(line('removed', left ?? ''))
      at += 1
    } else {
      lines.push(line('added', right))
      to += 1
    }
  }
  return lines
}

function line(kind: DiffLine['kind'], text: string): DiffLine {
  return { kind, text }
}

/** The length of the longest common sequence of lines from each pair of places on. */
function commonLengths(old: readonly string[], next: readonly string[]): ReadonlyArray<readonly number[]> {
  const table = Array.from({ length: old.length + 1 }, () => new Array<number>(next.length + 1).fill(0))
  for (let at = old.length - 1; at >= 0; at--) {
    const row = table[at] ?? []
    for (let to = next.length - 1; to >= 0; to--) {
      row[to] =
        old[at] === next[to]
          ? 1 + lengthAt(table, at + 1, to + 1)
          : Math.max(lengthAt(table, at + 1, to), lengthAt(table, at, to + 1))
    }
  }
  return table
}

function lengthAt(table: ReadonlyArray<readonly number[]>, at: number, to: number): number {
  return table[at]?.[to] ?? 0
}
