import { MAX_DEPTH, REPEATED_NAMES, TEXT_NAMES } from './json-bytes.ts'

const TEXTS: ReadonlySet<string> = new Set(TEXT_NAMES)
const REPEATED: ReadonlySet<string> = new Set(REPEATED_NAMES)

/** Counts the UTF-8 bytes of generated text in a parsed message, as `TextMeter` does in a stream. */
export function textBytes(message: unknown): number {
  return bytesWithin(message, 0)
}

function bytesWithin(value: unknown, depth: number): number {
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return 0
  let sum = 0
  if (Array.isArray(value)) {
    for (const item of value) sum += bytesWithin(item, depth + 1)
    return sum
  }
  for (const [name, member] of Object.entries(value)) {
    if (typeof member === 'string') sum += TEXTS.has(name) ? Buffer.byteLength(member) : 0
    else if (!REPEATED.has(name)) sum += bytesWithin(member, depth + 1)
  }
  return sum
}
