import { afterAll, beforeAll, expect, it } from 'vitest'
import { chat, eventsOf, expectRow } from '../../support/ai-calls.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { ScriptedServer, events, json } from '../../support/scripted-server.ts'
import type { Scene } from '../../support/scripted-server.ts'
import { chatStream, finishChunk } from '../../support/translation.ts'

const TEXT = 'A host that counts nothing says this.'
const FINISH = { id: 'chatcmpl-1', ...finishChunk('stop') }
const DONE = 'data: [DONE]\n\n'
const USAGE = { prompt_tokens: 5, completion_tokens: 7, total_tokens: 12 }

let host: ScriptedServer
let gateway: TestGateway

beforeAll(async () => {
  host = await ScriptedServer.start()
  const upstreams = (['anthropic-messages', 'gemini', 'cohere-chat'] as const).map((dialect) => ({
    dialect,
    baseUrl: host.url,
    models: [dialect],
  }))
  gateway = await startGateway({
    upstreams: [{ dialect: 'openai-chat', baseUrl: `${host.url}/v1`, models: ['m'] }, ...upstreams],
  })
})

afterAll(async () => {
  await gateway.stop()
  await host.close()
})

interface Chunk {
  readonly id: string
  readonly choices: readonly unknown[]
  readonly usage?: Readonly<Record<string, number>> | null
}

function chunksOf(text: string): Chunk[] {
  return eventsOf(text).flatMap(({ data }) => (data === '[DONE]' ? [] : [JSON.parse(data) as Chunk]))
}

const asked = { stream: true, stream_options: { include_usage: true } }

it.each(['with', 'without'])(
  'tells a client that asks what the gateway counted, of a stream %s its last event',
  async (end) => {
    const stream = chatStream([{ content: TEXT }], FINISH)
    host.script(events(end === 'with' ? [stream, DONE] : [stream]))
    const answer = await chat(gateway, asked)
    const chunks = chunksOf(answer.text)
    expect([answer.status, new Set(chunks.map(({ id }) => id))]).toEqual([200, new Set(['chatcmpl-1'])])
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { total_tokens: expect.any(Number) as number } })
    const { prompt_tokens = 0, completion_tokens = 0, total_tokens } = chunks.at(-1)?.usage ?? {}
    expect([prompt_tokens > 0, completion_tokens > 0, total_tokens]).toEqual([
      true,
      true,
      prompt_tokens + completion_tokens,
    ])
    expect(eventsOf(answer.text).at(-1)?.data).toBe('[DONE]')
    await expectRow(gateway, answer, { status: 200, settlement: 'observed' })
  },
)

const OTHERS: Readonly<Record<string, Scene>> = {
  m: json(200, {
    id: 'c',
    choices: [{ index: 0, message: { role: 'assistant', content: TEXT }, finish_reason: 'stop' }],
  }),
  'anthropic-messages': events(
    sse(
      ['message_start', { message: { id: 'msg_1', type: 'message', role: 'assistant', content: [], model: 'm' } }],
      ['content_block_start', { index: 0, content_block: { type: 'text', text: '' } }],
      ['content_block_delta', { index: 0, delta: { type: 'text_delta', text: TEXT } }],
      ['content_block_stop', { index: 0 }],
      ['message_delta', { delta: { stop_reason: 'end_turn' } }],
      ['message_stop', {}],
    ),
  ),
  gemini: events([
    `data: ${JSON.stringify({ candidates: [{ content: { role: 'model', parts: [{ text: TEXT }] }, finishReason: 'STOP' }] })}\n\n`,
  ]),
  'cohere-chat': events(
    sse(
      ['message-start', { id: 'c', delta: { message: { role: 'assistant', content: [] } } }],
      ['content-start', { index: 0, delta: { message: { content: { type: 'text', text: '' } } } }],
      ['content-delta', { index: 0, delta: { message: { content: { text: TEXT } } } }],
      ['content-end', { index: 0 }],
      ['message-end', { delta: { finish_reason: 'COMPLETE' } }],
    ),
  ),
}

function sse(...told: ReadonlyArray<readonly [type: string, rest: object]>): string[] {
  return told.map(([type, rest]) => `event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`)
}

it.each(Object.entries(OTHERS))(
  'tells it also where the stream is made of what another host says without a count (%s)',
  async (model, scene) => {
    host.script(scene)
    const answer = await chat(gateway, { ...asked, model })
    const last = chunksOf(answer.text).at(-1)
    expect([answer.status, last?.choices]).toEqual([200, []])
    const { prompt_tokens = 0, completion_tokens = 0 } = last?.usage ?? {}
    expect([prompt_tokens > 0, completion_tokens > 0]).toEqual([true, true])
    expect(eventsOf(answer.text).at(-1)?.data).toBe('[DONE]')
  },
)

it('leaves the count of the host alone', async () => {
  host.script(events([chatStream([{ content: TEXT }], FINISH, { id: 'chatcmpl-1', choices: [], usage: USAGE }), DONE]))
  const { text } = await chat(gateway, asked)
  expect(
    chunksOf(text)
      .map(({ usage }) => usage)
      .filter(Boolean),
  ).toEqual([USAGE])
})

it('tells nothing to a client that does not ask', async () => {
  host.script(events([chatStream([{ content: TEXT }], FINISH), DONE]))
  const { text } = await chat(gateway, { stream: true })
  expect(text).not.toContain('total_tokens')
})
