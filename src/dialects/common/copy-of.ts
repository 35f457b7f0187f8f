/**
 * A copy of `bytes[start, end)` that may live as long as a stream. It has memory of its own: `Buffer.from` takes a part of a block that all
 * parts keep, so a stream would keep what was copied for others, too.
 */
export function copyOf(bytes: Buffer, start: number, end: number): Buffer {
  const copy = Buffer.allocUnsafeSlow(end - start)
  bytes.copy(copy, 0, start, end)
  return copy
}
