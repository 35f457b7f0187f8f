import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import type { Behaviour } from '../../src/simulator/behaviour.ts'
import type { LoggedRequest } from '../../src/simulator/request-log.ts'
import type { Simulator } from '../../src/simulator/simulator.ts'
import type { LogRow, TestGateway } from './gateway.ts'

/** Headers by name; null removes a default header. */
export type CallHeaders = Readonly<Record<string, string | null>>

/** A complete answer. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The gateway's request id. */
  readonly id: string
}

export interface Call {
  readonly path: string
  readonly method?: string
  /** Text and bytes are sent unchanged, other values as JSON. */
  readonly body?: unknown
  readonly headers?: CallHeaders
  readonly signal?: AbortSignal
}

export const VERSION = '2023-06-01'

/** Sends a request with the gateway's key, unless `headers` replace it. */
export async function call(gateway: Pick<TestGateway, 'url' | 'apiKey'>, request: Call): Promise<Answer> {
  const { path, body, method = body === undefined ? 'GET' : 'POST', signal } = request
  const headers = {
    authorization: `Bearer ${gateway.apiKey}`,
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(path.includes('/messages') ? { 'anthropic-version': VERSION } : {}),
    ...request.headers,
  }
  const response = await fetch(gateway.url + path, {
    method,
    headers: Object.entries(headers).flatMap(([name, value]) => (value === null ? [] : [[name, value]])),
    ...(body === undefined ? {} : { body: sendable(body) }),
    ...(signal === undefined ? {} : { signal }),
    redirect: 'manual',
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, id: response.headers.get('x-request-id') ?? '' }
}

/** Sends a minimal chat request, with `members` merged into it. */
export function chat(
  gateway: TestGateway,
  members: Record<string, unknown> = {},
  headers: CallHeaders = {},
): Promise<Answer> {
  return call(gateway, { path: '/v1/chat/completions', body: { ...HELLO, ...members }, headers })
}

/** Sends a minimal messages request, with `members` merged into it. */
export function messages(
  gateway: TestGateway,
  members: Record<string, unknown> = {},
  headers: CallHeaders = {},
): Promise<Answer> {
  return call(gateway, { path: '/v1/messages', body: { ...HELLO_MESSAGES, ...members }, headers })
}

export const HELLO = { model: 'm', messages: [{ role: 'user', content: 'Hello there' }] } as const
export const HELLO_MESSAGES = { ...HELLO, model: 'c', max_tokens: 100 } as const

/** Messages that carry a behaviour for the simulator. */
export function steering(behaviour: Behaviour, text = 'Hello there'): Array<{ role: 'user'; content: string }> {
  return [{ role: 'user', content: `${text} [[sim ${JSON.stringify(behaviour)}]]` }]
}

/** A unique text that identifies a request. */
export function uniqueMark(): string {
  return `mark-${randomUUID()}`
}

/** The requests at the simulator with `mark` in their body or headers, in order. */
export function arrivals(simulator: Simulator, mark: string): LoggedRequest[] {
  return simulator
    .requests()
    .filter(({ body, headers }) => body.includes(mark) || Object.values(headers).some((value) => value?.includes(mark)))
}

export function jsonOf(answer: Pick<Answer, 'text'>): Record<string, unknown> {
  return JSON.parse(answer.text) as Record<string, unknown>
}

export interface SseEvent {
  readonly event: string | null
  readonly data: string
}

/** The events of a stream. Throws when a line does not have the format, or the last event is incomplete. */
export function eventsOf(text: string): SseEvent[] {
  if (text !== '' && !text.endsWith('\n\n')) throw new Error(`the stream ends within an event: ${text.slice(-200)}`)
  return text
    .split('\n\n')
    .slice(0, -1)
    .map((block) => {
      const lines = block.split('\n')
      const odd = lines.find((line) => !/^(?:data: |event: |:)/.test(line))
      if (odd !== undefined) throw new Error(`not a line of a stream: ${odd}`)
      const values = (name: string): string[] =>
        lines.filter((line) => line.startsWith(name)).map((line) => line.slice(name.length))
      return { event: values('event: ')[0] ?? null, data: values('data: ').join('\n') }
    })
}

export interface ExpectedError {
  readonly status: number
  readonly type: string
  readonly code: string
  readonly param?: string | null
  readonly message?: string | RegExp
}

/** Expects an error of the contract, in the format of the chat dialect. */
export function expectChatError(answer: Answer, expected: ExpectedError): void {
  const { status, type, code, param = null, message } = expected
  expect({ status: answer.status, body: jsonOf(answer) }).toEqual({
    status,
    body: { error: { type, code, param, message: expect.any(String), request_id: answer.id } },
  })
  const { error } = jsonOf(answer) as { error: { message: string } }
  if (message !== undefined) expect(error.message).toMatch(message)
  expectPlainError(answer)
}

/** Expects an error of the contract, in the format of the messages dialect. Only the log has its code. */
export function expectMessagesError(answer: Answer, expected: Omit<ExpectedError, 'code'>): void {
  const { status, type, param = null, message } = expected
  expect({ status: answer.status, body: jsonOf(answer) }).toEqual({
    status,
    body: { type: 'error', error: { type, message: expect.any(String) }, request_id: answer.id },
  })
  const { error } = jsonOf(answer) as { error: { message: string } }
  if (param !== null) expect(error.message).toContain(param)
  if (message !== undefined) expect(error.message).toMatch(message)
  expect(answer.headers.get('request-id')).toBe(answer.id)
  expectPlainError(answer)
}

function expectPlainError(answer: Answer): void {
  expect(answer.headers.get('content-type')).toBe('application/json')
  expect(answer.id).not.toBe('')
  expectNothingLeaked(answer)
  if (answer.status === 429 || answer.status === 503) expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
  if (answer.status === 401) expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer /)
  if (answer.status === 405) expect(answer.headers.get('allow')).toMatch(/^[A-Z]+(?:, [A-Z]+)*$/)
}

/** Expects no address, credential or account of an upstream, no name of the server's software, and no stack trace. */
export function expectNothingLeaked(answer: Pick<Answer, 'text' | 'headers'>): void {
  const all = `${answer.text}\n${JSON.stringify([...answer.headers])}`
  expect(all).not.toMatch(/127\.0\.0\.1|localhost|upstream-credential|org-simulator|uwebsockets|\bat .*\.[jt]s:\d/i)
}

export interface RowExpectation extends Partial<LogRow> {
  readonly status: number
}

/** Expects exactly one row of the request in the log, with the expected members. */
export async function expectRow(
  gateway: TestGateway,
  answer: Pick<Answer, 'id'>,
  expected: RowExpectation,
): Promise<LogRow> {
  const row = await gateway.logRow(answer.id)
  expect(row).toMatchObject(expected)
  expect(await gateway.logRows({ request_id: answer.id })).toHaveLength(1)
  return row
}

function sendable(body: unknown): string | Uint8Array<ArrayBuffer> {
  if (typeof body === 'string') return body
  return body instanceof Uint8Array ? new Uint8Array(body) : JSON.stringify(body)
}
