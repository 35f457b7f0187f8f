const BYTES_PER_NUMBER = 4

/** Little-endian float32, as base64; null when not every element is a finite number. */
export function encodeVector(numbers: readonly unknown[]): string | null {
  if (!numbers.every((value) => Number.isFinite(value))) return null
  const floats = Float32Array.from(numbers as readonly number[])
  return Buffer.from(floats.buffer).toString('base64')
}

/** Beyond any embedding: other numbers than float32, read as such, are soon as large. */
const MAX_MAGNITUDE = 1e6

/** The numbers of a base64 vector; null when it holds other ones than float32, as those of some services do. */
export function decodeVector(base64: string): number[] | null {
  const bytes = Buffer.from(base64, 'base64')
  if (bytes.length === 0 || bytes.length % BYTES_PER_NUMBER !== 0) return null
  // A copy of its own: the view must begin at a multiple of four.
  const floats = new Float32Array(Uint8Array.from(bytes).buffer)
  return floats.every((value) => Math.abs(value) <= MAX_MAGNITUDE) ? Array.from(floats) : null
}
