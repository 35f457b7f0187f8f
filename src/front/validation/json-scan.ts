import type { MemberSpan } from '../../shared/core/request-body.ts'
import { isDataName, readName, stringEnd } from './json-string.ts'
import { ROOT_PLACE } from './known-places.ts'
import type { Place } from './known-places.ts'

export interface ScanLimits {
  /** The deepest nesting of objects and arrays; the outermost counts as one. */
  readonly maxDepth: number
  /** The most values and member names together. */
  readonly maxElements: number
}

/** A member name that is not allowed at its place. */
export interface NameProblem {
  readonly kind: 'duplicate' | 'forbidden'
  /** JSON pointer of the member. */
  readonly pointer: string
}

export interface JsonScan {
  /** Set when the scan stopped at a limit: the body must not be parsed. */
  readonly exceeded: 'depth' | 'elements' | null
  /** The first problem found; meaningful only when the body is valid JSON. */
  readonly nameProblem: NameProblem | null
  /** The members of the outermost object, in order; empty when the body is not an object. */
  readonly members: MemberSpan[]
  /** The bytes of all string values, without quotes and without blobs. */
  readonly textBytes: number
  /** The number of long values that are a data URL, or base64 in a `data` or `file_data` member: pictures, sound, files. */
  readonly blobs: number
  /** The number of values and member names found. */
  readonly elements: number
}

const QUOTE = 0x22
const BLOB_MIN_BYTES = 4096
/** For fewer names than this in one object, comparing all pairs is cheaper than a Set. */
const FEW_NAMES = 12
const LONGEST_NAME_SHOWN = 100

/**
 * Scans the bytes of a JSON text once, before parsing. Never throws, and takes linear time for any bytes. For valid JSON the result
 * is exact; for other texts it is arbitrary, and JSON.parse refuses them.
 */
export function scanJson(bytes: Buffer, limits: ScanLimits): JsonScan {
  return new Scanner(bytes, limits).run()
}

class Scanner {
  readonly #bytes: Buffer
  readonly #limits: ScanLimits
  readonly #members: MemberSpan[] = []
  /** By depth, for each open container: its place (null: not watched), and the index or the name reached in it. */
  readonly #places: (Place | null)[] = []
  readonly #reached: (number | string)[] = []
  /** The names of all open watched objects, the innermost last. By depth: the index of its first name, and a Set when it has many. */
  readonly #names: string[] = []
  #nameCount = 0
  readonly #namesFrom: number[] = []
  readonly #nameSets: (Set<string> | null)[] = []
  #nameProblem: NameProblem | null = null
  #textBytes = 0
  #blobs = 0
  #nextSpace = -1

  constructor(bytes: Buffer, limits: ScanLimits) {
    this.#bytes = bytes
    this.#limits = limits
  }

  run(): JsonScan {
    const bytes = this.#bytes
    const end = bytes.length
    const { maxDepth, maxElements } = this.#limits
    const inObject: boolean[] = [false]
    let depth = 0
    let elements = 0
    let nameExpected = false
    // The place of the next value: that of the last name, or of the elements of the array.
    let place: Place | null = ROOT_PLACE
    let nameIsData = false
    // The current member of the outermost object.
    let memberName = ''
    let memberStart = -1
    let valueStart = -1
    let i = 0

    while (i < end) {
      const byte = bytes[i] as number
      // Space, tab, LF, CR and the colon only separate tokens.
      if (byte === 0x20 || byte === 0x3a || byte === 0x0a || byte === 0x0d || byte === 0x09) {
        i++
        continue
      }
      if (byte === 0x2c) {
        nameExpected = inObject[depth] === true
        if (!nameExpected && depth > 0) {
          const list: Place | null | undefined = this.#places[depth]
          if (list) {
            place = list.elements
            this.#reached[depth] = (this.#reached[depth] as number) + 1
          }
        }
        i++
        continue
      }
      if (byte === 0x7d || byte === 0x5d) {
        if (depth > 0) {
          if (this.#places[depth]) this.#leave(depth)
          depth--
          nameExpected = false
          if (depth === 1 && memberStart >= 0) {
            this.#members.push({ name: memberName, start: memberStart, valueStart, valueEnd: i + 1 })
            memberStart = -1
          }
        }
        i++
        continue
      }

      if (++elements > maxElements) return this.#result('elements', elements)

      if (byte === QUOTE && nameExpected) {
        const nameEnd = stringEnd(bytes, i + 1, end)
        nameExpected = false
        nameIsData = isDataName(bytes, i, nameEnd)
        const watched: Place | null = this.#places[depth] ?? null
        place = null
        if (watched?.members) {
          const name = readName(bytes, i, nameEnd)
          this.#reached[depth] = name
          this.#note(name, depth)
          place = watched.members.get(name) ?? null
          if (depth === 1) {
            memberName = name
            memberStart = i
            valueStart = -1
          }
        }
        i = nameEnd
        continue
      }

      if (depth === 1 && memberStart >= 0 && valueStart < 0) valueStart = i

      if (byte === QUOTE) {
        const valueEnd = stringEnd(bytes, i + 1, end)
        this.#countText(i + 1, valueEnd - 1, nameIsData)
        nameIsData = false
        i = valueEnd
      } else if (byte === 0x7b || byte === 0x5b) {
        if (depth === maxDepth) return this.#result('depth', elements)
        depth++
        const isObject = byte === 0x7b
        inObject[depth] = isObject
        nameExpected = isObject
        nameIsData = false
        const watched: Place | null =
          place !== null && (isObject ? place.members : place.elements) !== null ? place : null
        this.#places[depth] = watched
        place = null
        if (watched !== null) {
          this.#reached[depth] = isObject ? '' : 0
          this.#namesFrom[depth] = this.#nameCount
          this.#nameSets[depth] = null
          place = watched.elements
        }
        i++
        continue
      } else {
        i++
        while (i < end && isScalarByte(bytes[i] as number)) i++
        nameIsData = false
      }

      if (depth === 1 && memberStart >= 0) {
        this.#members.push({ name: memberName, start: memberStart, valueStart, valueEnd: i })
        memberStart = -1
      }
    }
    return this.#result(null, elements)
  }

  #note(name: string, depth: number): void {
    if (this.#nameProblem === null) {
      if (name === '__proto__') this.#nameProblem = { kind: 'forbidden', pointer: this.#pointer(depth) }
      else if (this.#isKnown(name, depth)) this.#nameProblem = { kind: 'duplicate', pointer: this.#pointer(depth) }
    }
    this.#names[this.#nameCount++] = name
  }

  #isKnown(name: string, depth: number): boolean {
    const from = this.#namesFrom[depth] ?? 0
    const set = this.#nameSets[depth]
    if (set) {
      if (set.has(name)) return true
      set.add(name)
      return false
    }
    for (let i = from; i < this.#nameCount; i++) if (this.#names[i] === name) return true
    if (this.#nameCount - from >= FEW_NAMES) {
      this.#nameSets[depth] = new Set(this.#names.slice(from, this.#nameCount)).add(name)
    }
    return false
  }

  #leave(depth: number): void {
    this.#nameCount = this.#namesFrom[depth] ?? 0
    this.#nameSets[depth] = null
  }

  #pointer(depth: number): string {
    let pointer = ''
    for (let level = 1; level <= depth; level++) {
      const step = String(this.#reached[level]).slice(0, LONGEST_NAME_SHOWN)
      pointer += `/${step.replaceAll('~', '~0').replaceAll('/', '~1')}`
    }
    return pointer
  }

  #countText(start: number, end: number, nameIsData: boolean): void {
    const length = end - start
    if (length >= BLOB_MIN_BYTES && this.#isBlob(start, end, nameIsData)) this.#blobs++
    else if (length > 0) this.#textBytes += length
  }

  #isBlob(start: number, end: number, nameIsData: boolean): boolean {
    const bytes = this.#bytes
    if (!nameIsData && bytes.toString('latin1', start, start + 5) !== 'data:') return false
    // `#nextSpace` is kept between strings: otherwise a body of many long strings would be searched repeatedly.
    if (this.#nextSpace < start) {
      const found = bytes.indexOf(0x20, start)
      this.#nextSpace = found < 0 ? bytes.length : found
    }
    if (this.#nextSpace < end) return false
    // Text in a script without spaces is not base64. A sample is enough for an estimate.
    for (let i = start; i < end; i += 61) if ((bytes[i] as number) > 0x7a) return false
    return true
  }

  #result(exceeded: JsonScan['exceeded'], elements: number): JsonScan {
    return {
      exceeded,
      nameProblem: this.#nameProblem,
      members: this.#members,
      textBytes: this.#textBytes,
      blobs: this.#blobs,
      elements,
    }
  }
}

/** Whether the byte belongs to a number, `true`, `false`, `null` or an invalid token. */
function isScalarByte(byte: number): boolean {
  return !(
    byte === 0x2c ||
    byte === 0x7d ||
    byte === 0x5d ||
    byte === 0x20 ||
    byte === 0x0a ||
    byte === 0x0d ||
    byte === 0x09 ||
    byte === QUOTE ||
    byte === 0x7b ||
    byte === 0x5b ||
    byte === 0x3a
  )
}
