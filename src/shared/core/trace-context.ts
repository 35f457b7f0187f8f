import { randomFillSync } from 'node:crypto'

/** The trace a request belongs to, https://www.w3.org/TR/trace-context/. */
export interface TraceContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string
  /** Two hexadecimal digits. */
  readonly flags: string
  /** The `tracestate` of the systems that the request came through; null: none. */
  readonly state: string | null
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const NO_TRACE = '0'.repeat(32)
const NO_SPAN = '0'.repeat(16)
/** The bits that have a meaning: `sampled`, and `random` of the second edition. */
const KNOWN_FLAGS = 0b11
const UNSAMPLED = '00'

/** A state up to this length must be passed on whole; a longer one may be cut. */
const MAX_STATE_LENGTH = 512
const MAX_STATE_MEMBERS = 32
/** Longer members are cut first. */
const LONG_MEMBER = 128
const MEMBER =
  /^(?:[a-z][a-z0-9_\-*/]{0,255}|[a-z0-9][a-z0-9_\-*/]{0,240}@[a-z][a-z0-9_\-*/]{0,13})=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/

/** The caller's trace; a new one, not sampled, when the header is missing or breaks the standard. */
export function traceOf(traceparent: string | undefined, tracestate: string | undefined): TraceContext {
  const parsed = traceparent === undefined ? null : parseTraceparent(traceparent)
  if (parsed === null) return { traceId: randomHex(16), flags: UNSAMPLED, state: null }
  return { ...parsed, state: tracestate === undefined ? null : parseTracestate(tracestate) }
}

/** The traceparent header for one call of the trace, with a new span id. */
export function traceparentOf({ traceId, flags }: TraceContext): string {
  return `00-${traceId}-${randomHex(8)}-${flags}`
}

/** Reads from later versions the fields of this one. */
function parseTraceparent(text: string): Omit<TraceContext, 'state'> | null {
  const [, version, traceId, parentId, flags = '', more] = TRACEPARENT.exec(text.trim()) ?? []
  if (version === undefined || traceId === undefined || version === 'ff') return null
  if (version === '00' && more !== undefined) return null
  if (traceId === NO_TRACE || parentId === NO_SPAN) return null
  return { traceId, flags: (Number.parseInt(flags, 16) & KNOWN_FLAGS).toString(16).padStart(2, '0') }
}

/** Null for a state that breaks the rules. Cuts a long one to MAX_STATE_LENGTH. */
function parseTracestate(text: string): string | null {
  const members = text
    .split(',')
    .map((member) => member.replace(/^[ \t]+|[ \t]+$/g, ''))
    .filter((member) => member !== '')
  if (members.length === 0 || members.length > MAX_STATE_MEMBERS || !members.every((one) => MEMBER.test(one)))
    return null
  const keys = new Set(members.map((member) => member.slice(0, member.indexOf('='))))
  if (keys.size < members.length) return null
  const length = (kept: readonly string[]): number => kept.join(',').length
  let kept = members
  while (length(kept) > MAX_STATE_LENGTH) {
    const long = kept.findLastIndex((member) => member.length > LONG_MEMBER)
    kept = kept.toSpliced(long < 0 ? kept.length - 1 : long, 1)
  }
  return kept.length === 0 ? null : kept.join(',')
}

// Filling the bytes of each id alone costs ten times as much.
const pool = Buffer.alloc(4096)
let used = pool.length

/** Never all zeros. */
function randomHex(bytes: number): string {
  if (used + bytes > pool.length) {
    randomFillSync(pool)
    used = 0
  }
  const text = pool.toString('hex', used, used + bytes)
  used += bytes
  return /[^0]/.test(text) ? text : randomHex(bytes)
}
