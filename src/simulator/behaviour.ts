import { isRecord } from './json.ts'

/**
 * Faults of an upstream. Faults of a stream act after `Behaviour.after` events; on a buffered answer they act after half of
 * the body. `README.md` in this folder says what each fault puts on the wire.
 */
export const FAULTS = [
  'accept-close',
  'reset-before-headers',
  'hang-before-headers',
  'reset-after-headers',
  'hang-after-headers',
  'reset-mid-stream',
  'hang-mid-stream',
  'close-mid-stream',
  'no-terminal',
  'double-terminal',
  'early-terminal',
  'garbage',
  'garbage-event',
  'split-utf8',
  'byte-by-byte',
  'slow-bytes',
  'long-line',
  'truncated-json',
  'error-in-200',
  'error-event-first',
  'error-event-mid',
  'wrong-content-length-short',
  'wrong-content-length-long',
  'redirect',
  'bare-json',
  'html',
  'comments',
  'crlf',
] as const
export type Fault = (typeof FAULTS)[number]

export const USAGE_MODES = [
  'normal',
  'absent',
  'zero',
  'negative',
  'huge',
  'string',
  /** Streams: the usage comes `LATE_USAGE_MS` after the finish reason. Messages also have zeros in `message_start`. */
  'late',
  /** Streams: the event with the usage follows the terminal event. */
  'after-terminal',
] as const
export type UsageMode = (typeof USAGE_MODES)[number]

/** The course of a video job. */
export interface VideoBehaviour {
  /** The first so many polls of the job find it in progress. */
  readonly pendingPolls?: number
  /** The job is in progress for this time. */
  readonly pendingMs?: number
  readonly outcome?: 'completed' | 'failed' | 'moderated'
  /** The video has expired when the job is done. */
  readonly expired?: boolean
  /** Length of the video. */
  readonly bytes?: number
}

export interface ToolAnswer {
  readonly name: string
  /** JSON text, or a value that becomes JSON text. */
  readonly arguments?: unknown
}

export function toolsOf({ tool }: Behaviour): readonly ToolAnswer[] {
  if (tool === undefined) return []
  return Array.isArray(tool) ? (tool as readonly ToolAnswer[]) : [tool as ToolAnswer]
}

/** The way a request is answered. Every member is optional: `{}` is a healthy provider without latency. */
export interface Behaviour {
  /** Silence before the first byte of the answer. */
  readonly ttftMs?: number
  /** Rate of a stream. A buffered answer takes the time that its tokens would take as a stream. */
  readonly eventsPerSecond?: number
  /** Length of the answer in tokens as `tokens.ts` counts them; the words are from a fixed vocabulary. */
  readonly tokens?: number
  /** The exact text of the answer. */
  readonly text?: string
  readonly tool?: ToolAnswer | readonly ToolAnswer[]
  /**
   * One behaviour for each turn of a tool loop: the first until the model has answered once, the second until it has answered
   * twice, and so on. After the last, `turns` has no effect. The last text of the user that holds `turns` counts, also when the
   * client sends other texts with the results of tools. A turn calls only tools that the request declares.
   */
  readonly turns?: readonly Behaviour[]
  readonly usage?: UsageMode
  /** Token counts to report instead of the real ones. */
  readonly promptTokens?: number
  readonly completionTokens?: number
  /** Part of the prompt tokens that came from the cache. */
  readonly cachedTokens?: number
  /** A status from 400 on makes an error with the body and the headers of the dialect. */
  readonly status?: number
  /** Value of `retry-after`: seconds or a date; null sends no header. */
  readonly retryAfter?: number | string | null
  /** Replaces the body of an error. */
  readonly errorBody?: string
  /** The first so many requests of a credential get the fault, the status or the recorded answer; later ones do not. */
  readonly failTimes?: number
  /** For each credential: so many healthy requests, then so many bad ones, in a cycle. */
  readonly flap?: readonly [ok: number, bad: number]
  readonly fault?: Fault
  /** Events before a fault in mid-stream, 5 by default. */
  readonly after?: number
  /** Rate of `slow-bytes`, 1 by default. */
  readonly bytesPerSecond?: number
  /** Accepted credentials; all others get 401 (403 in the AWS dialects). */
  readonly requireKey?: readonly string[]
  /** The model name in the answer. */
  readonly modelOverride?: string
  /** Answers with the bytes stored under this id. */
  readonly recorded?: string
  /** Response headers that are added, or replace headers of the same name. */
  readonly headers?: Readonly<Record<string, string>>
  /** The end of a stream on the wire: a last chunk, or the end of the connection. */
  readonly framing?: 'chunked' | 'close'
  /** After a whole answer with keep-alive: `close` closes the connection, `reset-next` resets it at the next request. */
  readonly afterAnswer?: 'close' | 'reset-next'
  /** Model ids in the answer to `GET models`. */
  readonly models?: readonly string[]
  /** Encoding of embeddings, whatever the request asks for. */
  readonly vectors?: 'float' | 'base64'
  /** Behaviour of the video job that the request creates. */
  readonly video?: VideoBehaviour
}

export const DEFAULT_AFTER = 5
export const LATE_USAGE_MS = 300

type Check = (value: unknown) => boolean
const isCount: Check = (value) => typeof value === 'number' && Number.isInteger(value) && value >= 0
const isAmount: Check = (value) => typeof value === 'number' && Number.isFinite(value) && value >= 0
const isInteger: Check = (value) => Number.isInteger(value)
const isText: Check = (value) => typeof value === 'string'
const isTextList: Check = (value) => Array.isArray(value) && value.every(isText)
const VIDEO_MEMBERS: Record<keyof VideoBehaviour, Check> = {
  pendingPolls: isCount,
  pendingMs: isAmount,
  outcome: (value) => value === 'completed' || value === 'failed' || value === 'moderated',
  expired: (value) => typeof value === 'boolean',
  bytes: isCount,
}
const isVideo: Check = (value) =>
  isRecord(value) &&
  Object.entries(value).every(
    ([name, member]) => Object.hasOwn(VIDEO_MEMBERS, name) && VIDEO_MEMBERS[name as keyof VideoBehaviour](member),
  )
const isTool: Check = (value) => isRecord(value) && typeof value['name'] === 'string'

const isTurns: Check = (value) =>
  Array.isArray(value) && value.every((turn) => parseBehaviour(turn).turns === undefined)

const MEMBERS: Record<keyof Behaviour, Check> = {
  ttftMs: isAmount,
  eventsPerSecond: (value) => isAmount(value) && value !== 0,
  tokens: isCount,
  text: isText,
  tool: (value) => isTool(value) || (Array.isArray(value) && value.length > 0 && value.every(isTool)),
  turns: isTurns,
  usage: (value) => (USAGE_MODES as readonly unknown[]).includes(value),
  promptTokens: isInteger,
  completionTokens: isInteger,
  cachedTokens: isInteger,
  status: (value) => isCount(value) && (value as number) >= 200 && (value as number) <= 599,
  retryAfter: (value) => value === null || isAmount(value) || isText(value),
  errorBody: isText,
  failTimes: isCount,
  flap: (value) => Array.isArray(value) && value.length === 2 && value.every(isCount) && value[0] + value[1] > 0,
  fault: (value) => (FAULTS as readonly unknown[]).includes(value),
  after: isCount,
  bytesPerSecond: (value) => isAmount(value) && value !== 0,
  requireKey: isTextList,
  modelOverride: isText,
  recorded: isText,
  headers: (value) => isRecord(value) && Object.values(value).every(isText),
  framing: (value) => value === 'chunked' || value === 'close',
  afterAnswer: (value) => value === 'close' || value === 'reset-next',
  models: isTextList,
  vectors: (value) => value === 'float' || value === 'base64',
  video: isVideo,
}

/** Checks that the value is a behaviour. Throws an Error that names the first member that is unknown or has a wrong value. */
export function parseBehaviour(value: unknown): Behaviour {
  if (!isRecord(value)) throw new Error('a behaviour must be a JSON object')
  for (const [name, member] of Object.entries(value)) {
    const check = Object.hasOwn(MEMBERS, name) ? MEMBERS[name as keyof Behaviour] : undefined
    if (check === undefined) throw new Error(`a behaviour has no member "${name}"`)
    if (!check(member)) throw new Error(`bad value for "${name}" of a behaviour: ${JSON.stringify(member)}`)
  }
  return value
}

const OPENING = '[[sim '

/** Whether the text holds a behaviour with `turns`. */
export function scriptsTurns(text: string): boolean {
  return text.includes(`${OPENING}{"turns":`)
}

/** The behaviour that a text holds as `[[sim {json}]]`, or null. Throws when the JSON is not a behaviour. */
export function findBehaviour(text: string): Behaviour | null {
  const start = text.indexOf(OPENING)
  if (start === -1) return null
  for (let end = text.indexOf(']]', start); end !== -1; end = text.indexOf(']]', end + 1)) {
    const value = parseJson(text.slice(start + OPENING.length, end))
    if (value !== undefined) return parseBehaviour(value)
  }
  throw new Error('the [[sim …]] of the message holds no JSON')
}

/** The text without its `[[sim …]]`. */
export function withoutSteering(text: string): string {
  const start = text.indexOf(OPENING)
  if (start === -1) return text
  for (let end = text.indexOf(']]', start); end !== -1; end = text.indexOf(']]', end + 1)) {
    if (parseJson(text.slice(start + OPENING.length, end)) === undefined) continue
    return (text.slice(0, start) + text.slice(end + 2)).trim()
  }
  return text
}

/** Whether the `turn`-th request (from 0) of a credential gets the faults of this behaviour. */
export function isBadTurn(behaviour: Behaviour, turn: number): boolean {
  if (behaviour.failTimes !== undefined && turn >= behaviour.failTimes) return false
  if (behaviour.flap === undefined) return true
  const [ok, bad] = behaviour.flap
  return turn % (ok + bad) >= ok
}

/** The behaviour without its fault, error or recorded answer. */
export function calmed(behaviour: Behaviour): Behaviour {
  const calm: { -readonly [Member in keyof Behaviour]: Behaviour[Member] } = { ...behaviour }
  delete calm.fault
  delete calm.status
  delete calm.errorBody
  delete calm.recorded
  delete calm.afterAnswer
  return calm
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
