import { isRecord } from './json.ts'

/**
 * Ways to misbehave. Those of a stream act after `Behaviour.after` events; on a buffered answer they act after half of
 * the body. `README.md` in this folder says what each one puts on the wire.
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
  /** Streams: the figures come `LATE_USAGE_MS` after the finish reason; messages: and zeros in `message_start`. */
  'late',
  /** Streams: the event with the figures follows the terminal event. */
  'after-terminal',
] as const
export type UsageMode = (typeof USAGE_MODES)[number]

/** How the job of a video goes. */
export interface VideoBehaviour {
  /** Looks at the job that find it under way. */
  readonly pendingPolls?: number
  /** Time for which it is under way. */
  readonly pendingMs?: number
  readonly outcome?: 'completed' | 'failed' | 'moderated'
  /** The video is gone by the time it is done. */
  readonly expired?: boolean
  /** Length of the video. */
  readonly bytes?: number
}

export interface ToolAnswer {
  readonly name: string
  /** JSON text, or a value to make it of. */
  readonly arguments?: unknown
}

export function toolsOf({ tool }: Behaviour): readonly ToolAnswer[] {
  if (tool === undefined) return []
  return Array.isArray(tool) ? (tool as readonly ToolAnswer[]) : [tool as ToolAnswer]
}

/** How a request is answered. Everything is optional: `{}` is a healthy provider without latency. */
export interface Behaviour {
  /** Silence before the first byte of the answer. */
  readonly ttftMs?: number
  /** Pace of a stream; a buffered answer then takes the time that its tokens would have taken. */
  readonly eventsPerSecond?: number
  /** Length of the answer in tokens of the rule in `tokens.ts`, made of a fixed vocabulary. */
  readonly tokens?: number
  /** The exact text of the answer. */
  readonly text?: string
  readonly tool?: ToolAnswer | readonly ToolAnswer[]
  /**
   * One for each turn of a tool loop: the first until the model has answered, the second until it has answered twice, and so on;
   * behind the last, as if nothing were said. Found in the last text of the user that holds it, whatever texts a client sends
   * with the results of tools. A turn calls the tools that the request declares, and no others.
   */
  readonly turns?: readonly Behaviour[]
  readonly usage?: UsageMode
  /** The figures to report instead of the counted ones. */
  readonly promptTokens?: number
  readonly completionTokens?: number
  /** Part of the prompt tokens that came from the cache. */
  readonly cachedTokens?: number
  /** From 400 on: an error with the body and the headers of the dialect. */
  readonly status?: number
  /** Seconds or a date, as sent; null sends none. */
  readonly retryAfter?: number | string | null
  /** Replaces the body of an error. */
  readonly errorBody?: string
  /** Only the first so many requests of a credential get the fault, the status or the recorded answer. */
  readonly failTimes?: number
  /** Per credential: so many healthy requests, then so many bad ones, and again. */
  readonly flap?: readonly [ok: number, bad: number]
  readonly fault?: Fault
  /** Events written before a fault in mid-stream, 5 by default. */
  readonly after?: number
  /** Of `slow-bytes`, 1 by default. */
  readonly bytesPerSecond?: number
  /** Credentials that are let in; all others get 401. */
  readonly requireKey?: readonly string[]
  /** The model that the answer names. */
  readonly modelOverride?: string
  /** Answers with the bytes stored under this id. */
  readonly recorded?: string
  /** Response headers that replace or join the usual ones. */
  readonly headers?: Readonly<Record<string, string>>
  /** How a stream ends on the wire: with a last chunk, or with the connection. */
  readonly framing?: 'chunked' | 'close'
  /** After a whole answer that promised keep-alive: `close` hangs up, `reset-next` resets at the next request. */
  readonly afterAnswer?: 'close' | 'reset-next'
  /** Ids that `GET models` lists. */
  readonly models?: readonly string[]
  /** How embeddings come, whatever was asked for. */
  readonly vectors?: 'float' | 'base64'
  /** Of the job that a request makes. */
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

/** The value as a behaviour. Throws an Error that names the first member it does not know or whose value is wrong. */
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

/** The text says how each turn of a tool loop is to be answered. */
export function scriptsTurns(text: string): boolean {
  return text.includes(`${OPENING}{"turns":`)
}

/** The behaviour written into a text as `[[sim {json}]]`, or null. Throws when what stands there is not one. */
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

/** Whether the `turn`-th request (from 0) of a credential gets the bad side of this behaviour. */
export function isBadTurn(behaviour: Behaviour, turn: number): boolean {
  if (behaviour.failTimes !== undefined && turn >= behaviour.failTimes) return false
  if (behaviour.flap === undefined) return true
  const [ok, bad] = behaviour.flap
  return turn % (ok + bad) >= ok
}

/** The healthy side of a behaviour: without its fault, error or recorded answer. */
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
