const QUOTE = 0x22
const BACKSLASH = 0x5c
/** For up to this many bytes a loop in JavaScript is cheaper than the native call of `indexOf`. */
const NEAR_BYTES = 96
const LONGEST_NAME_CACHED = 32
const NAME_CACHE_SLOTS = 256

/** Member names repeat from request to request. A hit in this cache costs a tenth of decoding the name again. */
const nameCache: (string | undefined)[] = new Array<string | undefined>(NAME_CACHE_SLOTS).fill(undefined)

/** The index after the closing quote of the string whose first character is at `start`; `end` when it has no closing quote. */
export function stringEnd(bytes: Buffer, start: number, end: number): number {
  let i = start
  for (;;) {
    const near = Math.min(i + NEAR_BYTES, end)
    while (i < near) {
      const byte = bytes[i]
      if (byte === QUOTE) return i + 1
      i += byte === BACKSLASH ? 2 : 1
    }
    if (i >= end) return end
    const quote = bytes.indexOf(QUOTE, i)
    if (quote < 0) return end
    let before = quote
    while (before > i && bytes[before - 1] === BACKSLASH) before--
    if (((quote - before) & 1) === 0) return quote + 1
    i = quote + 1
  }
}

/** The unescaped name between two quotes; the quoted text itself when it cannot be unescaped (JSON.parse will refuse it). */
export function readName(bytes: Buffer, start: number, end: number): string {
  let hash = end - start
  for (let i = start + 1; i < end - 1; i++) {
    const byte = bytes[i] as number
    if (byte >= 0x80 || byte === BACKSLASH) return unescapeName(bytes.toString('utf8', start, end))
    hash = (hash * 31 + byte) | 0
  }
  const slot = hash & (NAME_CACHE_SLOTS - 1)
  const cached = nameCache[slot]
  if (cached !== undefined && spells(cached, bytes, start + 1, end - 1)) return cached
  const name = bytes.toString('latin1', start + 1, end - 1)
  if (name.length <= LONGEST_NAME_CACHED) nameCache[slot] = name
  return name
}

function spells(name: string, bytes: Buffer, start: number, end: number): boolean {
  if (name.length !== end - start) return false
  for (let i = 0; i < name.length; i++) if (name.charCodeAt(i) !== bytes[start + i]) return false
  return true
}

function unescapeName(quoted: string): string {
  try {
    const name: unknown = JSON.parse(quoted)
    return typeof name === 'string' ? name : quoted
  } catch {
    return quoted
  }
}

/** Whether the quoted name is `data` or `file_data`. */
export function isDataName(bytes: Buffer, start: number, end: number): boolean {
  const length = end - start
  if (length === 6) return bytes[start + 1] === 0x64 && bytes.toString('latin1', start + 1, end - 1) === 'data'
  return length === 11 && bytes[start + 1] === 0x66 && bytes.toString('latin1', start + 1, end - 1) === 'file_data'
}
