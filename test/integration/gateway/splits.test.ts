import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { CommonDialectName } from '../../../src/shared/core/endpoint.ts'
import type { RecordedAnswer } from '../../../src/simulator/recorded.ts'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { firstCases } from '../../support/dose.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { RawClient, inLanes } from '../../support/raw-client.ts'
import { steeredRequest } from '../../support/steered-request.ts'

const SEED = 20_260_504
const LANES = 24
const SEEDS = 40
const LARGE_BYTES = 1024 * 1024

let simulator: Simulator
let gateway: TestGateway

beforeAll(async () => {
  simulator = await startSimulator()
  const baseUrl = `${simulator.origin}/v1`
  gateway = await startGateway({
    upstreams: (['openai-chat', 'anthropic-messages'] as const).map((dialect) => ({
      id: dialect,
      dialect,
      baseUrl,
      models: [dialect],
      keys: [{ credential: dialect, max_concurrency: 1_000 }],
    })),
  })
})

afterAll(async () => {
  await gateway.stop()
  await simulator.close()
})

/** Streams that all say the same, in every dress that the standard allows. */
const DRESSES: Readonly<Record<string, (events: readonly string[]) => string>> = {
  plain: (events) => events.join(''),
  'with CR LF': (events) => events.join('').replaceAll('\n', '\r\n'),
  'with lone CRs': (events) => events.join('').replaceAll('\n', '\r'),
  'with comments': (events) => `: first\n\n${events.join(': between\n\n')}`,
  'with comments in events': (events) => events.map((event) => `: inside\n${event}`).join(''),
  'with ids and retries': (events) => events.map((event, n) => `id: ${n}\nretry: 100\n${event}`).join(''),
  'without spaces': (events) => events.join('').replaceAll('data: ', 'data:').replaceAll('event: ', 'event:'),
  'with several data lines': (events) => events.join('').replaceAll('{"index":0,', '{\ndata: "index":0,\ndata: '),
  'with blank lines between': (events) => events.join('\n\n'),
  'with a byte order mark': (events) => `\uFEFF${events.join('')}`,
}
const CUT_EVERYWHERE: ReadonlySet<string> = new Set(['plain', 'with CR LF', 'with lone CRs', 'with comments'])

describe.each(['openai-chat', 'anthropic-messages'] as const)('a stream of %s', (dialect) => {
  it.each(firstCases(4, Object.keys(DRESSES)))(
    'arrives as it was, wherever it is cut: %s',
    { timeout: 240_000 },
    async (dress) => {
      const body = Buffer.from(DRESSES[dress]?.(eventsOf(dialect, 'Grüße 了解 👍🏽')) ?? '')
      const splits: Array<RecordedAnswer['splits']> = [null, 'bytes']
      for (let n = 0; n < SEEDS; n++) splits.push(SEED + n)
      if (CUT_EVERYWHERE.has(dress)) for (let at = 1; at < body.length; at++) splits.push([at])
      await expectAsRecorded(dialect, body, splits)
    },
  )

  it('arrives as it was when one event is a megabyte long', { timeout: 120_000 }, async () => {
    const body = Buffer.from(eventsOf(dialect, 'ü'.repeat(LARGE_BYTES / 2)).join(''))
    const splits = Array.from({ length: 12 }, (_, n) => piecesOf(body.length, 700 + n * 9_001))
    await expectAsRecorded(dialect, body, [null, ...splits])
  })
})

/** Plays the stream once for every split and compares what comes. */
async function expectAsRecorded(
  dialect: CommonDialectName,
  body: Buffer,
  splits: ReadonlyArray<RecordedAnswer['splits']>,
): Promise<void> {
  const clients: RawClient[] = []
  const wrong: string[] = []
  let played = 0
  await inLanes(
    splits.map((split, n) => ({ split, n })),
    LANES,
    async ({ split, n }, lane) => {
      const id = `${dialect}-${n}`
      simulator.record({ id, status: 200, headers: { 'content-type': 'text/event-stream' }, body, splits: split })
      let client = clients[lane]
      if (client === undefined || client.ended) client = clients[lane] = await RawClient.connect(gateway.port)
      const answer = await client.post(
        steeredRequest({
          apiKey: gateway.apiKey,
          dialect,
          model: dialect,
          user: id,
          stream: true,
          wantsUsage: true,
          behaviour: { recorded: id },
        }),
      )
      played++
      if (answer.status !== 200 || !answer.body.equals(body)) {
        wrong.push(
          `${JSON.stringify(split)?.slice(0, 60)}: ${answer.status}, ${answer.body.length} of ${body.length} bytes: ${answer.body.toString().slice(0, 300)}`,
        )
      }
    },
  )
  for (const client of clients) client.close()
  expect(wrong).toEqual([])
  expect(played).toBe(splits.length)
  // Each was whole to the upstream as well: nothing was cut short.
  await eventually(() => {
    expect(simulator.ledger.totals).toMatchObject({ aborted: 0, faults: 0, inFlight: 0 })
  })
}

function piecesOf(length: number, size: number): number[] {
  return Array.from({ length: Math.ceil(length / size) }, (_, n) => (n + 1) * size)
}

function eventsOf(dialect: CommonDialectName, text: string): string[] {
  const json = JSON.stringify(text)
  if (dialect === 'openai-chat') {
    return [
      `data: {"choices":[{"index":0,"delta":{"role":"assistant","content":${json}}}]}\n\n`,
      `data: {"choices":[{"index":0,"delta":{"content":"\\n\\n\\r\\ndata: [DONE]"},"finish_reason":"stop"}]}\n\n`,
      'data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":5,"total_tokens":8}}\n\n',
      'data: [DONE]\n\n',
    ]
  }
  const event = (type: string, rest: string): string => `event: ${type}\ndata: {"type":"${type}"${rest}}\n\n`
  return [
    event('message_start', ',"message":{"id":"m","usage":{"input_tokens":3,"output_tokens":1}}'),
    event('content_block_start', ',"content_block":{"index":0,"type":"text","text":""}'),
    event('content_block_delta', `,"index":0,"delta":{"type":"text_delta","text":${json}}`),
    event('content_block_stop', ',"index":0'),
    event('message_delta', ',"delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5}'),
    event('message_stop', ''),
  ]
}
