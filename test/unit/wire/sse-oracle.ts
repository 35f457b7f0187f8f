/** Events of a whole stream, as latin1 text, cut the slow and obvious way; the last one may be unfinished. */
export function eventsOf(stream: Buffer): string[] {
  const lines = stream.toString('latin1').match(/[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$/g) ?? []
  const events: string[] = []
  let event = ''
  for (const line of lines) {
    event += line
    if (/^[\r\n]+$/.test(line)) {
      events.push(event)
      event = ''
    }
  }
  if (event !== '') events.push(event)
  return events
}

/** Name and payload of an event as the standard reads them; `data` is null without a data line. */
export function fieldsOf(event: string): { name: string; data: string | null } {
  const text = Buffer.from(event, 'latin1')
    .toString('utf8')
    .replace(/^\uFEFF/, '')
  let name = ''
  const data: string[] = []
  for (const line of text.split(/\r\n|\r|\n/)) {
    const [, field, value] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? []
    if (field === 'event') name = value ?? ''
    if (field === 'data') data.push(value ?? '')
  }
  return { name, data: data.length === 0 ? null : data.join('\n') }
}

/** Cuts a buffer at the given places, in any order. */
export function cutAt(stream: Buffer, places: readonly number[]): Buffer[] {
  const cuts = [...new Set(places.map((place) => place % (stream.length + 1)))].sort((a, b) => a - b)
  const chunks: Buffer[] = []
  let from = 0
  for (const cut of [...cuts, stream.length]) {
    chunks.push(Buffer.from(stream.subarray(from, cut)))
    from = cut
  }
  return chunks
}

export function byteByByte(stream: Buffer): Buffer[] {
  return Array.from({ length: stream.length }, (_, i) => Buffer.from(stream.subarray(i, i + 1)))
}

/** Pseudo-random places to cut at, the same for the same seed. */
export function seededCuts(length: number, seed: number): number[] {
  let state = (seed * 2654435761 + 12345) >>> 0
  const cuts: number[] = []
  for (let i = 0; i < Math.min(200, 1 + length / 20); i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    cuts.push(state % (length + 1))
  }
  return cuts
}
