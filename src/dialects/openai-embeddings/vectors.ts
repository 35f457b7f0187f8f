const BYTES_PER_NUMBER = 4

/** Encodes numbers as little-endian float32 in base64; null when not every element is a finite number. */
export function encodeVector(numbers: readonly unknown[]): string | null {
  if (!numbers.every((value) => Number.isFinite(value))) return null
  const floats = Float32Array.from(numbers as readonly number[])
  return Buffer.from(floats.buffer).toString('base64')
}

/** No embedding has larger numbers. Numbers of another type, read as float32, soon do. */
const MAX_MAGNITUDE = 1e6

/** Decodes a base64 vector; null when it holds numbers of another type than float32, as some services send. */
export function decodeVector(base64: string): number[] | null {
  const bytes = Buffer.from(base64, 'base64')
  if (bytes.length === 0 || bytes.length % BYTES_PER_NUMBER !== 0) return null
  // Copies the bytes, because the view must begin at a multiple of four.
  const floats = new Float32Array(Uint8Array.from(bytes).buffer)
  return floats.every((value) => Math.abs(value) <= MAX_MAGNITUDE) ? Array.from(floats) : null
}
