const QUOTE = 0x22
const BACKSLASH = 0x5c

/** Tracks the nesting of JSON text that arrives in pieces. Tells without parsing when one value is complete. */
export class JsonDepth {
  #depth = 0
  #inText = false
  #escaped = false
  #begun = false

  get begun(): boolean {
    return this.#begun
  }

  /** One object or array has been opened and closed. */
  get complete(): boolean {
    return this.#begun && this.#depth === 0
  }

  push(text: string): void {
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at)
      if (this.#inText) {
        if (this.#escaped) this.#escaped = false
        else if (code === BACKSLASH) this.#escaped = true
        else if (code === QUOTE) this.#inText = false
      } else if (code === QUOTE) {
        this.#inText = true
      } else if (code === 0x7b || code === 0x5b) {
        this.#depth++
        this.#begun = true
      } else if (code === 0x7d || code === 0x5d) {
        this.#depth--
      }
    }
  }
}
