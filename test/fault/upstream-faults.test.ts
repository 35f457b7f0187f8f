import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ERROR_CODES } from '../../src/shared/core/errors.ts'
import { eventsOf, expectChatError, expectMessagesError, expectNothingLeaked, jsonOf } from '../support/ai-calls.ts'
import type { Answer } from '../support/ai-calls.ts'
import { eventually } from '../support/eventually.ts'
import type { LogRow } from '../support/gateway.ts'
import { toldCode } from '../support/upstream-fault.ts'
import type { Expectation } from '../support/upstream-fault.ts'
import type { FaultCase, FaultOutcome } from '../support/upstream-fault-world.ts'
import { casesOf, FaultWorld, goesOn } from '../support/upstream-fault-world.ts'
import { UPSTREAM_FAULTS } from './upstream-fault-table.ts'

type Refused = Extract<Expectation, { kind: 'refused' }>
type Whole = Extract<Expectation, { kind: 'whole' }>

const cases = casesOf(UPSTREAM_FAULTS)
let world: FaultWorld
let rows: ReadonlyMap<string, LogRow>

beforeAll(async () => {
  world = await FaultWorld.start(cases)
  await world.run(cases)
  rows = await eventually(
    async () => {
      const found = await world.gateway.logRows()
      const answered = [...world.outcomes.values()].filter((outcome) => !(outcome instanceof Error))
      expect(found.length).toBeGreaterThanOrEqual(answered.length)
      return new Map(found.map((row) => [row.id, row]))
    },
    { timeoutMs: 60_000, everyMs: 500 },
  )
}, 240_000)

afterAll(() => world.close())

describe.each(UPSTREAM_FAULTS.map((group) => [group.title, group] as const))(
  '%s: an upstream that',
  (_group, { faults }) => {
    describe.each(faults.map((fault) => [fault.name, fault] as const))('%s', (_name, fault) => {
      it.each(cases.filter((test) => test.fault === fault).map((test) => [titleOf(test), test] as const))(
        '%s',
        (_title, test) => {
          const { answer, turns } = outcomeOf(test)
          const row = rows.get(answer.id)
          expect(row, 'the row of the request').toBeDefined()
          expectNothingLeaked(answer)
          if (goesOn(test) && answer.status !== 200) throw new Error(answer.text)
          expect(row).toMatchObject({ stream: test.stream, aborted: false, attempts: goesOn(test) ? 2 : 1 })
          if (turns !== null) expect(turns, 'requests at the upstream').toBe(goesOn(test) ? 2 : 1)
          if (goesOn(test)) expectWhole(test, answer, row, { kind: 'whole', settlement: 'exact' })
          else if (test.expected.kind === 'whole') expectWhole(test, answer, row, test.expected)
          else if (test.expected.kind === 'broken') expectBroken(test, answer, row, test.expected.code)
          else expectRefused(test, answer, row, test.expected)
          if (!test.spare && test.expected.kind === 'refused')
            expectKey(test.expected, world.coolingSeconds.get(test.id) ?? 0)
        },
      )
    })
  },
)

function titleOf({ dialect, stream, spare }: FaultCase): string {
  return `${dialect}, ${stream ? 'streamed' : 'whole'}${spare ? ', with a second key' : ''}`
}

function outcomeOf({ id }: FaultCase): FaultOutcome {
  const outcome = world.outcomes.get(id)
  if (outcome === undefined || outcome instanceof Error)
    throw new Error(`no answer to ${id}`, { cause: outcome?.cause })
  return outcome
}

function expectRefused(test: FaultCase, answer: Answer, row: LogRow | undefined, expected: Refused): void {
  const code = toldCode(expected)
  const { status, type } = ERROR_CODES[code]
  const error = { status, type, code, param: code === 'MODEL_NOT_FOUND' ? '/model' : null }
  if (test.dialect === 'openai-chat') expectChatError(answer, { ...error, code: expected.clientCode ?? code })
  else expectMessagesError(answer, error)
  expect(row).toMatchObject({
    status,
    error_type: type,
    error_code: code,
    settlement: 'none',
    prompt_tokens: 0,
    completion_tokens: 0,
  })
  const { retryAfter } = expected
  if (retryAfter !== undefined) expect(answer.headers.get('retry-after')).toBe(String(retryAfter))
}

function expectKey({ key, retryAfter }: Refused, coolingSeconds: number): void {
  switch (key) {
    case 'in use':
      expect(coolingSeconds).toBe(0)
      return
    case 'rests':
      expect(coolingSeconds).toBeLessThanOrEqual(5)
      return
    case 'rests as told':
      expect(coolingSeconds).toBeGreaterThan((retryAfter ?? 30) / 2)
      return
    case 'out':
      expect(coolingSeconds).toBeGreaterThan(30)
  }
}

function expectBroken(test: FaultCase, answer: Answer, row: LogRow | undefined, code: keyof typeof ERROR_CODES): void {
  const { type } = ERROR_CODES[code]
  expect(answer.status).toBe(200)
  expect(answer.headers.get('content-type')).toMatch(/^text\/event-stream/)
  const events = eventsOf(answer.text)
  const last = events.pop()
  const error = { type, message: expect.any(String) as unknown }
  if (test.dialect === 'openai-chat') {
    expect(JSON.parse(last?.data ?? '')).toEqual({ error: { ...error, code, param: null, request_id: answer.id } })
  } else {
    expect(last?.event).toBe('error')
    expect(JSON.parse(last?.data ?? '')).toEqual({ type: 'error', error, request_id: answer.id })
  }
  expect(events.length).toBeGreaterThan(0)
  expect(events.some(isEnd)).toBe(false)
  expect(row).toMatchObject({ status: 200, error_type: type, error_code: code, settlement: 'observed' })
  expect(row?.prompt_tokens).toBeGreaterThan(0)
}

function expectWhole(test: FaultCase, answer: Answer, row: LogRow | undefined, { settlement, tokens }: Whole): void {
  expect(answer.status, answer.text.slice(0, 1_000)).toBe(200)
  expect(answer.headers.get('content-type')).toMatch(test.stream ? /^text\/event-stream/ : /^application\/json$/)
  const { source } = test.fault
  const text = test.stream ? streamedText(test, answer) : bodyText(test, jsonOf(answer))
  if (source.kind === 'raw') expect(text).toBe('You said: Hello there')
  else if (source.kind === 'simulator' && source.behaviour.text !== undefined) expect(text).toBe(source.behaviour.text)
  else expect(text).not.toBe('')
  expect(row).toMatchObject({ status: 200, error_type: null, error_code: null, settlement })
  if (tokens !== undefined) expect([row?.prompt_tokens, row?.completion_tokens]).toEqual(tokens)
}

function streamedText(test: FaultCase, answer: Answer): string {
  const events = eventsOf(answer.text.replaceAll('\r\n', '\n')).filter(({ data }) => data !== '')
  expect(events.filter(isEnd)).toHaveLength(1)
  expect(events.at(-1)).toSatisfy(isEnd)
  return events
    .filter(({ data }) => data !== '[DONE]')
    .map(({ data }) => {
      const value = JSON.parse(data) as { choices?: Array<{ delta: { content?: string } }>; delta?: { text?: string } }
      return test.dialect === 'openai-chat'
        ? (value.choices ?? []).map(({ delta }) => delta.content ?? '').join('')
        : (value.delta?.text ?? '')
    })
    .join('')
}

function bodyText({ dialect }: FaultCase, body: unknown): string {
  if (dialect === 'openai-chat') {
    const { choices } = body as { choices: Array<{ message: { content: string } }> }
    return choices.map(({ message }) => message.content).join('')
  }
  return (body as { content: Array<{ text: string }> }).content.map(({ text }) => text).join('')
}

function isEnd({ event, data }: { event: string | null; data: string }): boolean {
  return data === '[DONE]' || event === 'message_stop'
}
