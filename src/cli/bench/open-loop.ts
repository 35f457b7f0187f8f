import http from 'node:http'
import https from 'node:https'
import { AnswerReader } from './answer-reader.ts'
import type { TokenCount } from './answer-reader.ts'

/** A request with the time at which it is due. */
export interface PlannedRequest {
  /** Milliseconds after the start of the load. */
  readonly atMs: number
  /** The whole URL. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** The pace of the upstream, where it is known: events are late by what they come after it. */
  readonly pace?: Pace
}

export interface Pace {
  /** Milliseconds from the arrival of the request to the first event. */
  readonly firstMs: number
  /** Milliseconds from event to event. */
  readonly everyMs: number
}

/** An answer. Times count from the time at which the request was due, not from when it was sent: a queue in front of a slow gateway counts. */
export interface OpenAnswer {
  readonly planned: PlannedRequest
  /** Position in the plan. */
  readonly index: number
  /** 0: there was no answer. */
  readonly status: number
  readonly requestId: string
  /** Milliseconds by which this client sent late. */
  readonly sentLateMs: number
  /** Milliseconds to the first event with text; null without one. */
  readonly firstMs: number | null
  readonly totalMs: number
  /** Events with text. */
  readonly events: number
  readonly text: string
  readonly usage: TokenCount | null
  /** The code of the error in the body. */
  readonly errorCode: string | null
  /** The reason why the answer is not whole; null: it is whole, or an error with a body. */
  readonly fault: string | null
}

export interface OpenLoopOptions {
  readonly onAnswer: (answer: OpenAnswer) => void
  /** The lateness of each event against the pace of its request, in milliseconds. */
  readonly onLateness?: (ms: number) => void
  readonly signal: AbortSignal
}

const MAX_OPEN = 4_000
const TIMEOUT_MS = 120_000
/** A body that is no stream is kept until its end. */
const MAX_WHOLE_BYTES = 64 * 1024 * 1024

/**
 * Sends each request when it is due, whether or not earlier ones have their answers. Resolves when all have ended. A request beyond
 * `MAX_OPEN` unanswered ones is not sent and counts as failed. Rejects when the signal aborts.
 */
export async function openLoop(plan: readonly PlannedRequest[], options: OpenLoopOptions): Promise<void> {
  const agents = newAgents(MAX_OPEN)
  const startMs = performance.now()
  let next = 0
  let open = 0
  let timer: NodeJS.Timeout | null = null
  try {
    await new Promise<void>((resolve, reject) => {
      const onAbort = (): void => {
        reject(options.signal.reason as Error)
      }
      if (options.signal.aborted) {
        onAbort()
        return
      }
      options.signal.addEventListener('abort', onAbort, { once: true })
      const finish = (answer: OpenAnswer): void => {
        open -= 1
        // The requests that the abort ended are no results.
        if (options.signal.aborted) return
        options.onAnswer(answer)
        if (next === plan.length && open === 0) {
          options.signal.removeEventListener('abort', onAbort)
          resolve()
        }
      }
      const sendDue = (): void => {
        for (let planned = plan[next]; planned !== undefined; planned = plan[next]) {
          const dueMs = startMs + planned.atMs
          const waitMs = dueMs - performance.now()
          if (waitMs > 0) {
            timer = setTimeout(sendDue, waitMs)
            return
          }
          open += 1
          const request = { planned, index: next, dueMs }
          next += 1
          if (open > MAX_OPEN) finish(unsent(request))
          else send(request, agents, options, finish)
        }
      }
      if (plan.length === 0) resolve()
      else sendDue()
    })
  } finally {
    if (timer !== null) clearTimeout(timer)
    for (const agent of Object.values(agents)) agent.destroy()
  }
}

/** Connections to the gateway, which are kept for further requests. */
export function newAgents(most: number): Agents {
  const options = { keepAlive: true, maxSockets: most, scheduling: 'lifo', noDelay: true } as const
  return { 'http:': new http.Agent(options), 'https:': new https.Agent(options) }
}

interface DueRequest {
  readonly planned: PlannedRequest
  readonly index: number
  readonly dueMs: number
}

type Agents = Readonly<Record<'http:' | 'https:', http.Agent>>

function unsent({ planned, index }: DueRequest): OpenAnswer {
  return {
    ...NOTHING,
    planned,
    index,
    sentLateMs: 0,
    totalMs: 0,
    fault: `not sent: ${MAX_OPEN} requests had no answer yet`,
  }
}

const NOTHING = {
  status: 0,
  requestId: '',
  firstMs: null,
  events: 0,
  text: '',
  usage: null,
  errorCode: null,
} as const

/** Sends one request now. */
export function send(
  { planned, index, dueMs }: DueRequest,
  agents: Agents,
  { onLateness }: Pick<OpenLoopOptions, 'onLateness'>,
  then: (answer: OpenAnswer) => void,
): void {
  const url = new URL(planned.url)
  const isSecure = url.protocol === 'https:'
  const sentLateMs = performance.now() - dueMs
  const { pace } = planned
  let firstMs: number | null = null
  let events = 0
  let isOver = false
  const finish = (status: number, requestId: string, reader: AnswerReader | null, fault: string | null): void => {
    if (isOver) return
    isOver = true
    clearTimeout(deadline)
    then({
      planned,
      index,
      status,
      requestId,
      sentLateMs,
      firstMs,
      totalMs: performance.now() - dueMs,
      events,
      text: reader?.text ?? '',
      usage: reader?.usage ?? null,
      errorCode: reader?.error ?? null,
      fault,
    })
  }
  const onEvent = (): void => {
    const sinceMs = performance.now() - dueMs
    firstMs ??= sinceMs
    if (pace !== undefined) onLateness?.(sinceMs - pace.firstMs - events * pace.everyMs)
    events += 1
  }
  const request = (isSecure ? https : http).request(url, {
    method: 'POST',
    agent: agents[isSecure ? 'https:' : 'http:'],
    headers: {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(planned.body),
      ...planned.headers,
    },
  })
  const deadline = setTimeout(() => {
    request.destroy(new Error(`no end of the answer after ${TIMEOUT_MS / 1000} s`))
  }, TIMEOUT_MS)
  request.on('error', (cause) => {
    finish(0, '', null, cause.message)
  })
  request.on('response', (response) => {
    const { statusCode = 0, headers } = response
    const requestId = String(headers['x-request-id'] ?? '')
    const isStream = headers['content-type']?.startsWith('text/event-stream') ?? false
    const reader = new AnswerReader(isStream, onEvent)
    let bytes = 0
    response.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      try {
        if (!isStream && bytes > MAX_WHOLE_BYTES) throw new Error(`an answer of more than ${MAX_WHOLE_BYTES} bytes`)
        reader.push(chunk)
      } catch (cause) {
        finish(statusCode, requestId, reader, (cause as Error).message)
        response.destroy()
      }
    })
    response.on('end', () => {
      reader.end()
      finish(statusCode, requestId, reader, isStream ? reader.streamFault : null)
    })
    response.on('error', (cause) => {
      finish(statusCode, requestId, reader, cause.message)
    })
    response.on('close', () => {
      finish(statusCode, requestId, reader, 'the connection ended within the answer')
    })
  })
  request.end(planned.body)
}

/** Arrivals at a constant rate. */
export function evenly(rate: number, seconds: number): number[] {
  const count = Math.max(1, Math.round(rate * seconds))
  return Array.from({ length: count }, (_, index) => (index * 1000) / rate)
}
