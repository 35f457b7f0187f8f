const SLOTS = 4096

/**
 * Texts that come again and again as bytes, made only once while they are remembered. The same text is mostly the same
 * string, whose hash is known: quick as a key.
 */
export class TextCache {
  readonly #texts = new Array<string>(SLOTS).fill('')

  /** @returns the text of `bytes[start, end)`, which is ASCII */
  of(bytes: Buffer, start: number, end: number): string {
    let hash = 0x811c9dc5
    for (let at = start; at < end; at++) hash = Math.imul(hash ^ (bytes[at] as number), 0x01000193)
    const slot = (hash ^ (hash >>> 13)) & (SLOTS - 1)
    const known = this.#texts[slot] as string
    if (isText(known, bytes, start, end)) return known
    const text = bytes.toString('latin1', start, end)
    this.#texts[slot] = text
    return text
  }
}

function isText(text: string, bytes: Buffer, start: number, end: number): boolean {
  if (text.length !== end - start) return false
  for (let at = start; at < end; at++) if (text.charCodeAt(at - start) !== bytes[at]) return false
  return true
}
