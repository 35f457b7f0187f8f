import { constants, PerformanceObserver } from 'node:perf_hooks'

/**
 * V8 collects its whole heap after every few dozen MiB of buffers, however short they live: with bodies of megabytes that is
 * several times a second, and every request waits for it. Memory that threads share is not counted.
 */
const MAX_UNCOUNTED_BYTES = 256 * 1024 * 1024
/** Smaller ones are not worth a mapping of their own. */
const LARGE_BYTES = 65_536

let uncounted = 0

const observer = new PerformanceObserver((list) => {
  // Not in the types of Node 20: https://nodejs.org/api/perf_hooks.html#performance_entry_detail
  for (const { detail } of list.getEntries() as ReadonlyArray<{ readonly detail?: { readonly kind: number } }>) {
    if (detail?.kind === constants.NODE_PERFORMANCE_GC_MAJOR) uncounted = 0
  }
})

/**
 * Memory for a body: its own, and readable by all threads, when it is large. Between two full collections no more than 256 MiB goes
 * uncounted: what is made beyond that is counted by V8, and brings the next one about.
 */
export function allocateBody(size: number): Buffer {
  if (size < LARGE_BYTES) return Buffer.allocUnsafe(size)
  if (uncounted + size > MAX_UNCOUNTED_BYTES) return Buffer.allocUnsafeSlow(size)
  if (uncounted === 0) observer.observe({ type: 'gc' })
  uncounted += size
  return Buffer.from(new SharedArrayBuffer(size))
}

/** As `Buffer.concat`, into such memory. */
export function joinBody(pieces: readonly Uint8Array[]): Buffer {
  const whole = allocateBody(pieces.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const piece of pieces) {
    whole.set(piece, at)
    at += piece.length
  }
  return whole
}

/** The same bytes as they can go to another thread, with no memory of others: shared, or a copy that may be transferred. */
export function portable(bytes: Uint8Array): Uint8Array {
  if (bytes.buffer instanceof SharedArrayBuffer) return bytes
  return bytes.length < LARGE_BYTES ? new Uint8Array(bytes) : joinBody([bytes])
}

/** What of it has to be transferred. */
export function transfersOf({ buffer }: Uint8Array): ArrayBuffer[] {
  return buffer instanceof ArrayBuffer ? [buffer] : []
}
