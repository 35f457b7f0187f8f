import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Behaviour } from '../../src/simulator/behaviour.ts'
import type { Simulator } from '../../src/simulator/simulator.ts'
import { startSimulator } from '../../src/simulator/simulator.ts'
import type { Answer } from '../support/ai-calls.ts'
import { arrivals, chat, eventsOf, expectChatError, jsonOf, uniqueMark } from '../support/ai-calls.ts'
import { itLater } from '../support/dose.ts'
import { eventually } from '../support/eventually.ts'
import type { TestGateway } from '../support/gateway.ts'
import { startGateway } from '../support/gateway.ts'
import { inLanes } from '../support/raw-client.ts'

/** One key of five does this, the other four are well. */
const BAD: ReadonlyArray<readonly [name: string, behaviour: Behaviour]> = [
  ['refuses its credential', { status: 401 }],
  ['is rate limited', { status: 429, retryAfter: 30 }],
  ['fails', { status: 500 }],
  ['is overloaded', { status: 529 }],
  ['hangs up', { fault: 'reset-before-headers' }],
  ['says nothing', { fault: 'hang-before-headers' }],
  ['sends garbage', { fault: 'garbage' }],
  ['sends pages', { fault: 'html', status: 200 }],
  ['sends errors under 200', { fault: 'error-in-200' }],
  ['flaps', { status: 500, flap: [2, 2] }],
]
const KEYS = 5
const REQUESTS = 40
/** Retries have a budget of three at least. */
const LANES = 3
const MAX_ATTEMPTS = 3

let simulator: Simulator
let gateway: TestGateway

beforeAll(async () => {
  simulator = await startSimulator()
  const models = [...BAD.map((_, index) => ({ id: `bad-${index}`, keys: KEYS })), ...OTHERS]
  gateway = await startGateway({
    upstreams: models.map(({ id, keys }) => ({
      id,
      dialect: 'openai-chat' as const,
      baseUrl: `${simulator.origin}/v1`,
      models: [id],
      keys: Array.from({ length: keys }, (_, index) => ({ credential: credentialOf(id, index) })),
      more: { timeouts: { first_byte_ms: 1_000 } },
    })),
  })
})

afterAll(async () => {
  await gateway.stop()
  await simulator.close()
})

const OTHERS = [
  { id: 'all-bad', keys: KEYS },
  { id: 'all-flapping', keys: 3 },
  { id: 'closing', keys: 1 },
  { id: 'resetting', keys: 1 },
]

function credentialOf(model: string, index: number): string {
  return `upstream-credential-${model}-${index}`
}

/** Asks so many times, every other one for a stream. */
async function ask(model: string, count: number, lanes = LANES): Promise<Answer[]> {
  const answers: Answer[] = []
  await inLanes(
    Array.from({ length: count }, (_, n) => n),
    lanes,
    async (n) => {
      answers.push(await chat(gateway, { model, stream: n % 2 === 0 }))
    },
  )
  return answers
}

function isSuccess({ status, text }: Answer): boolean {
  if (status !== 200) return false
  return text.startsWith('{') ? 'choices' in jsonOf({ text }) : eventsOf(text).at(-1)?.data === '[DONE]'
}

describe('clients see nothing but successes when one key of five', () => {
  it.each(BAD.map(([name, behaviour], index) => [name, behaviour, `bad-${index}`] as const))(
    '%s',
    async (_name, behaviour, model) => {
      simulator.configureKey(credentialOf(model, 0), behaviour)
      const answers = await ask(model, REQUESTS)
      expect(answers.filter((answer) => !isSuccess(answer))).toEqual([])
      const started = Array.from(
        { length: KEYS },
        (_, index) => simulator.ledger.of(credentialOf(model, index)).started,
      )
      const total = started.reduce((sum, one) => sum + one, 0)
      expect(total).toBeLessThanOrEqual(REQUESTS * MAX_ATTEMPTS)
      // It is found out, and left alone.
      if (behaviour.flap === undefined) expect(started[0]).toBeLessThan(REQUESTS / 2)
    },
  )
})

it('answers 503 with the time to come back when all keys are bad, and stops asking them', async () => {
  for (let index = 0; index < KEYS; index++) simulator.configureKey(credentialOf('all-bad', index), { status: 500 })
  const answers = await ask('all-bad', REQUESTS)
  for (const answer of answers) {
    const { code } = (jsonOf(answer) as { error: { code: string } }).error
    expect(['UPSTREAM_ERROR', 'NO_UPSTREAM_CAPACITY']).toContain(code)
    expectChatError(answer, { status: 503, type: 'service_unavailable', code })
  }
  const mark = uniqueMark()
  expectChatError(await chat(gateway, { model: 'all-bad', user: mark }), {
    status: 503,
    type: 'service_unavailable',
    code: 'NO_UPSTREAM_CAPACITY',
  })
  expect(arrivals(simulator, mark)).toEqual([])
})

itLater('gives good answers again once flapping keys stay up', async () => {
  for (let index = 0; index < 3; index++) {
    simulator.configureKey(credentialOf('all-flapping', index), { status: 503, flap: [2, 3] })
  }
  const answers = await ask('all-flapping', REQUESTS)
  for (const answer of answers) expect(isSuccess(answer) || answer.status === 503, answer.text).toBe(true)
  for (let index = 0; index < 3; index++) simulator.configureKey(credentialOf('all-flapping', index), {})
  await eventually(
    async () => {
      const again = await ask('all-flapping', 6)
      expect(again.filter((answer) => !isSuccess(answer))).toEqual([])
    },
    { timeoutMs: 45_000, everyMs: 1_000 },
  )
})

it.each([
  ['closing', 'close'],
  ['resetting', 'reset-next'],
] as const)(
  'asks once more on a connection of its own when one that was kept is gone (%s)',
  async (model, afterAnswer) => {
    simulator.configureKey(credentialOf(model, 0), { afterAnswer })
    const answers = await ask(model, 20, 1)
    expect(answers.filter((answer) => !isSuccess(answer))).toEqual([])
  },
)
