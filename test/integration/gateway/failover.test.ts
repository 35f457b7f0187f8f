import type { Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Behaviour } from '../../../src/simulator/behaviour.ts'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import type { Answer } from '../../support/ai-calls.ts'
import { call, eventsOf, expectNothingLeaked, HELLO, HELLO_MESSAGES, jsonOf } from '../../support/ai-calls.ts'
import { eventually } from '../../support/eventually.ts'
import type { LogRow, TestGateway, TestUpstream } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { RawUpstream } from '../../support/raw-upstream.ts'

/** The first key has nearly all of the weight; the second is what is left when the first has failed. */
const FIRST_WEIGHT = 1_000
const SECOND_WEIGHT = 1e-9
/** Faults that leave no byte of an answer, at once. */
const CLOSING: ReadonlySet<string> = new Set(['accept-close', 'reset-before-headers'])
/** Cases under way at a time. */
const SIDE_BY_SIDE = 12

const STATUSES = [401, 402, 403, 404, 408, 409, 429, 500, 502, 503, 504, 529]
const ANYWAY: ReadonlyArray<readonly [string, Behaviour]> = [
  ...STATUSES.map((status) => [`status ${status}`, { status }] as const),
  ['accept-close', { fault: 'accept-close' }],
  ['reset-before-headers', { fault: 'reset-before-headers' }],
  ['hang-before-headers', { fault: 'hang-before-headers' }],
  ['reset-after-headers', { fault: 'reset-after-headers' }],
  ['hang-after-headers', { fault: 'hang-after-headers' }],
  ['garbage', { fault: 'garbage' }],
  ['html', { fault: 'html' }],
  ['html under 200', { fault: 'html', status: 200 }],
  ['redirect', { fault: 'redirect' }],
  ['error-in-200', { fault: 'error-in-200' }],
]
const BUFFERED: ReadonlyArray<readonly [string, Behaviour]> = [
  ...ANYWAY,
  ['truncated-json', { fault: 'truncated-json' }],
  ['garbage-event', { fault: 'garbage-event' }],
  ['close-mid-stream', { fault: 'close-mid-stream' }],
  ['reset-mid-stream', { fault: 'reset-mid-stream' }],
  ['wrong-content-length-short', { fault: 'wrong-content-length-short' }],
  ['wrong-content-length-long', { fault: 'wrong-content-length-long' }],
]
/** All before the first event. */
const STREAMED: ReadonlyArray<readonly [string, Behaviour]> = [
  ...ANYWAY,
  ['error-event-first', { fault: 'error-event-first' }],
  ['truncated-json', { fault: 'truncated-json', after: 0 }],
  ['garbage-event', { fault: 'garbage-event', after: 0 }],
  ['close-mid-stream', { fault: 'close-mid-stream', after: 0 }],
]

interface Case {
  readonly id: string
  readonly name: string
  readonly dialect: TestUpstream['dialect']
  readonly stream: boolean
  readonly behaviour: Behaviour
}

interface Outcome {
  readonly answer: Answer
  readonly row: LogRow | null
}

const cases: Case[] = (['openai-chat', 'anthropic-messages'] as const).flatMap((dialect) =>
  [false, true].flatMap((stream) =>
    (stream ? STREAMED : BUFFERED).map(([name, behaviour], index) => ({
      id: `${dialect}-${stream ? 's' : 'b'}${index}`,
      name: `${name}, ${dialect}, ${stream ? 'streamed' : 'whole'}`,
      dialect,
      stream,
      behaviour,
    })),
  ),
)

let simulator: Simulator
let closing: RawUpstream
/** What it does with a request. */
let play: (socket: Socket) => void = answerWhole
let gateway: TestGateway
/** Each case has an upstream of its own: they run side by side, and their rows are read in one go. */
const outcomes = new Map<string, Outcome>()

beforeAll(async () => {
  simulator = await startSimulator()
  closing = await RawUpstream.start((socket) => {
    play(socket)
  })
  gateway = await startGateway({
    upstreams: [
      { id: 'closing', dialect: 'openai-chat', baseUrl: `${closing.origin}/v1`, models: ['closing'] },
      {
        id: 'closing-three',
        dialect: 'openai-chat',
        baseUrl: `${closing.origin}/v1`,
        models: ['closing-three'],
        keys: ['1', '2', '3', '4'].map((n) => ({ id: `three-${n}`, credential: `upstream-credential-closing-${n}` })),
      },
      ...cases.map(upstreamOf),
    ],
    // Here every request needs a second attempt.
    config: { upstream: { retry_budget_percent: 100 } },
  })
  for (const test of cases) simulator.configureKey(`upstream-credential-first-${test.id}`, test.behaviour)

  const answers = new Map<string, Answer>()
  const waiting = cases.values()
  const work = async (): Promise<void> => {
    for (const test of waiting) answers.set(test.id, await ask(test))
  }
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, work))
  const rows = await eventually(
    async () => {
      const found = await gateway.logRows()
      expect(found).toHaveLength(cases.length)
      return new Map(found.map((row) => [row.id, row]))
    },
    { timeoutMs: 60_000, everyMs: 500 },
  )
  for (const [id, answer] of answers) outcomes.set(id, { answer, row: rows.get(answer.id) ?? null })
}, 180_000)

afterAll(async () => {
  await gateway.stop()
  await Promise.all([simulator.close(), closing.close()])
})

function upstreamOf({ id, dialect, behaviour }: Case): TestUpstream {
  return {
    id,
    dialect,
    baseUrl: `${simulator.origin}/v1`,
    models: [id],
    keys: [
      { id: `${id}-first`, credential: `upstream-credential-first-${id}`, weight: FIRST_WEIGHT },
      { id: `${id}-second`, credential: `upstream-credential-second-${id}`, weight: SECOND_WEIGHT },
    ],
    more: behaviour.fault?.startsWith('hang') === true ? { timeouts: { first_byte_ms: 5_000, idle_ms: 5_000 } } : {},
  }
}

function answerWhole(socket: Socket): void {
  const choices = [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }]
  const body = JSON.stringify({ choices, usage: { prompt_tokens: 1, completion_tokens: 1 } })
  socket.write(`HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
}

function ask({ id, dialect, stream }: Case): Promise<Answer> {
  const chat = dialect === 'openai-chat'
  return call(gateway, {
    path: chat ? '/v1/chat/completions' : '/v1/messages',
    body: { ...(chat ? HELLO : HELLO_MESSAGES), model: id, stream },
  })
}

function outcomeOf({ id }: Case): Outcome {
  const outcome = outcomes.get(id)
  if (outcome === undefined) throw new Error(`no outcome of ${id}`)
  return outcome
}

function textOf({ text }: Answer, { dialect, stream }: Case): string {
  const chat = dialect === 'openai-chat'
  const values = stream
    ? eventsOf(text)
        .filter(({ data }) => data !== '[DONE]' && data !== '')
        .map(({ data }) => JSON.parse(data) as unknown)
    : [JSON.parse(text) as unknown]
  return values.map((value) => (chat ? chatText(value) : messageText(value))).join('')
}

function chatText(value: unknown): string {
  const { choices } = value as { choices: Array<{ message?: { content: string }; delta?: { content?: string } }> }
  return choices.map(({ message, delta }) => message?.content ?? delta?.content ?? '').join('')
}

function messageText(value: unknown): string {
  const { content, delta } = value as { content?: Array<{ text: string }>; delta?: { text?: string } }
  return content?.map(({ text }) => text).join('') ?? delta?.text ?? ''
}

describe('goes to the next key, and bills the one answer, after', () => {
  it.each(cases.map((test) => [test.name, test] as const))('%s', (_name, test) => {
    const { answer, row } = outcomeOf(test)
    expect(answer.status, answer.text).toBe(200)
    expect(textOf(answer, test)).toBe('You said: Hello there')
    expectNothingLeaked(answer)

    const first = simulator.ledger.of(`upstream-credential-first-${test.id}`)
    const second = simulator.ledger.of(`upstream-credential-second-${test.id}`)
    expect(first.started, 'the failing key was asked').toBeGreaterThan(0)
    expect(second).toMatchObject({ started: 1, completionTokens: 5, promptTokens: 2 })
    expect(row).toMatchObject({
      status: 200,
      error_type: null,
      error_code: null,
      upstream_key_id: `${test.id}-second`,
      settlement: 'exact',
      prompt_tokens: second.promptTokens,
      completion_tokens: second.completionTokens,
      stream: test.stream,
      aborted: false,
    })
    // On a connection that was kept, one that closes looks like one that had been closed: it is asked once more.
    expect(CLOSING.has(test.behaviour.fault ?? '') ? [2, 3] : [2]).toContain(row?.attempts)
  })
})

it('tells in the detail of the log what became of each attempt', async () => {
  const test = cases.find(({ behaviour, stream }) => behaviour.status === 429 && stream) as Case
  const { answer } = outcomeOf(test)
  const headers = { authorization: `Bearer ${await gateway.adminToken()}` }
  const detail = await call(gateway, { path: `/v1/admin/logs/${answer.id}`, headers })
  expect(jsonOf(detail)).toMatchObject({
    attempts: [
      { upstreamKeyId: `${test.id}-first`, status: 429, outcome: 'UPSTREAM_RATE_LIMITED' },
      { upstreamKeyId: `${test.id}-second`, status: 200, outcome: 'ok' },
    ],
  })
})

describe('a kept connection that breaks before the first byte of an answer', () => {
  const askClosing = async (model = 'closing'): Promise<{ status: number; heard: number; outcomes: unknown[] }> => {
    const before = closing.requests.length
    const answer = await call(gateway, { path: '/v1/chat/completions', body: { ...HELLO, model } })
    const row = await gateway.logRow(answer.id)
    const headers = { authorization: `Bearer ${await gateway.adminToken()}` }
    const detail = jsonOf(await call(gateway, { path: `/v1/admin/logs/${row.id}`, headers }))
    const outcomes = (detail['attempts'] as Array<{ outcome: unknown }>).map(({ outcome }) => outcome)
    return { status: answer.status, heard: closing.requests.length - before, outcomes }
  }
  const breakAfter = (ms: number) => (socket: Socket) => {
    play = answerWhole
    setTimeout(() => socket.resetAndDestroy(), ms)
  }

  it('at once had been closed while it rested: the second attempt stands in the log', async () => {
    expect(await askClosing()).toEqual({ status: 200, heard: 1, outcomes: ['ok'] })
    play = breakAfter(0)
    expect(await askClosing()).toEqual({ status: 200, heard: 2, outcomes: ['UPSTREAM_UNREACHABLE', 'ok'] })
  })

  it('later may have carried it to an upstream at work: nothing is sent a second time on that key', async () => {
    play = breakAfter(1_200)
    expect(await askClosing()).toEqual({ status: 503, heard: 1, outcomes: ['UPSTREAM_UNREACHABLE'] })
  })

  it('counts within upstream.max_attempts, however many keys are left', async () => {
    expect(await askClosing('closing-three')).toEqual({ status: 200, heard: 1, outcomes: ['ok'] })
    play = (socket) => socket.resetAndDestroy()
    expect(await askClosing('closing-three')).toEqual({
      status: 503,
      heard: 3,
      outcomes: ['UPSTREAM_UNREACHABLE', 'UPSTREAM_UNREACHABLE', 'UPSTREAM_UNREACHABLE'],
    })
  })
})

it('follows no redirect', () => {
  expect(simulator.stats().redirectsFollowed).toBe(0)
})
