/**
 * Returns the rows of a statement in the order of their names, which must be unique. Nodes that add to the same rows then lock them in the
 * same order and never deadlock.
 */
export function inLockOrder<Row>(named: Iterable<readonly [name: string, row: Row]>): Row[] {
  return [...named].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row)
}
