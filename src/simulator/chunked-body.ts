const CR = 13
const LF = 10

/** Decodes one chunked request body. */
export class ChunkedBody {
  readonly parts: Buffer[] = []
  bytes = 0
  #state: 'size' | 'data' | 'data-end' | 'trailer' = 'size'
  #line = ''
  #left = 0

  /** Reads from `start`. Returns the offset of the end of the body, -1 when it continues, -2 when it is malformed. */
  read(chunk: Buffer, start: number): number {
    let at = start
    while (at < chunk.length) {
      if (this.#state === 'data') {
        const take = Math.min(this.#left, chunk.length - at)
        this.parts.push(chunk.subarray(at, at + take))
        this.bytes += take
        this.#left -= take
        at += take
        if (this.#left === 0) this.#state = 'data-end'
        continue
      }
      const byte = chunk[at++]
      if (byte !== LF) {
        if (byte !== CR) this.#line += String.fromCharCode(byte ?? 0)
        if (this.#line.length > 4096) return -2
        continue
      }
      const line = this.#line
      this.#line = ''
      if (this.#state === 'data-end') {
        if (line !== '') return -2
        this.#state = 'size'
      } else if (this.#state === 'trailer') {
        if (line === '') return at
      } else {
        const size = /^([0-9a-fA-F]{1,8})\s*(;.*)?$/.exec(line)
        if (size === null) return -2
        this.#left = Number.parseInt(size[1] ?? '', 16)
        this.#state = this.#left === 0 ? 'trailer' : 'data'
      }
    }
    return -1
  }
}
