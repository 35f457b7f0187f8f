import { parseBehaviour, type Behaviour } from './behaviour.ts'
import type { RequestHead } from './http-head.ts'
import type { Ledger, Totals } from './ledger.ts'
import { parseRecorded, type RecordedAnswer } from './recorded.ts'
import type { LoggedRequest } from './request-log.ts'

export interface SimulatorStats extends Readonly<Totals> {
  readonly keys: Readonly<Record<string, Readonly<Totals>>>
  readonly connections: { readonly open: number; readonly accepted: number }
  /** Requests for the path that the fault `redirect` points to. */
  readonly redirectsFollowed: number
  readonly videosCreated: number
  /** Lateness of the event loop: bounds the time from an abort to its `abortSeenAt`. */
  readonly loopDelayMs: { readonly p99: number; readonly max: number }
}

/** The operations of the control API. */
export interface ControlTarget {
  readonly ledger: Ledger
  configureKey(credential: string, behaviour: Behaviour): void
  setDefaults(behaviour: Behaviour): void
  script(behaviours: readonly Behaviour[]): void
  record(answer: RecordedAnswer): void
  requests(since: number): LoggedRequest[]
  stats(): SimulatorStats
  reset(): void
}

export interface ControlAnswer {
  readonly status: number
  readonly body: string
}

const KEYS = '/__sim/keys/'

/** Answers a request below /__sim/: 400 with the reason for a bad request, 404 for an unknown path. */
export function answerControl(target: ControlTarget, head: RequestHead, body: Buffer): ControlAnswer {
  try {
    const value = act(target, head, body)
    if (value === undefined) return { status: 404, body: '{"error":"no such control endpoint"}' }
    return { status: 200, body: JSON.stringify(value) }
  } catch (cause) {
    return { status: 400, body: JSON.stringify({ error: cause instanceof Error ? cause.message : String(cause) }) }
  }
}

function act(target: ControlTarget, head: RequestHead, body: Buffer): unknown {
  const { path } = head
  const query = new URLSearchParams(head.query)
  if (path.startsWith(KEYS) && head.method === 'PUT') {
    target.configureKey(decodeURIComponent(path.slice(KEYS.length)), parseBehaviour(json(body)))
    return {}
  }
  switch (`${head.method} ${path}`) {
    case 'GET /__sim/stats':
      return target.stats()
    case 'GET /__sim/requests':
      return target.requests(numberOf(query, 'since', 0))
    case 'GET /__sim/records':
      return target.ledger.records(numberOf(query, 'since', 0)).slice(0, numberOf(query, 'limit', 10_000))
    case 'POST /__sim/reset':
      target.reset()
      return {}
    case 'PUT /__sim/defaults':
      target.setDefaults(parseBehaviour(json(body)))
      return {}
    case 'PUT /__sim/script':
      target.script(behaviourList(json(body)))
      return {}
    case 'PUT /__sim/recorded':
      target.record(parseRecorded(json(body)))
      return {}
    case 'GET /__sim/redirected':
    case 'POST /__sim/redirected':
      return { redirected: true }
    default:
      return undefined
  }
}

function behaviourList(value: unknown): Behaviour[] {
  if (!Array.isArray(value)) throw new Error('a script must be an array of behaviours')
  return value.map(parseBehaviour)
}

function json(body: Buffer): unknown {
  return JSON.parse(body.toString('utf8'))
}

function numberOf(query: URLSearchParams, name: string, otherwise: number): number {
  const text = query.get(name)
  if (text === null) return otherwise
  const value = Number(text)
  if (!Number.isInteger(value) || value < 0) throw new Error(`"${name}" must be a whole number`)
  return value
}
