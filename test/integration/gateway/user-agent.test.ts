import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { arrivals, chat, expectRow, HELLO, HELLO_MESSAGES, uniqueMark } from '../../support/ai-calls.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'

let simulator: Simulator
let gateway: TestGateway

beforeAll(async () => {
  simulator = await startSimulator()
  const baseUrl = `${simulator.origin}/v1`
  gateway = await startGateway({
    upstreams: [
      { dialect: 'openai-chat', baseUrl, models: ['m'] },
      { dialect: 'anthropic-messages', baseUrl, models: ['c'] },
    ],
  })
})

afterAll(async () => {
  await gateway.stop()
  await simulator.close()
})

/** Sends a chat request whose User-Agent is these very bytes; the head and body of the answer. */
async function sendRaw(userAgent: Buffer | null, user: string): Promise<string> {
  const body = JSON.stringify({ ...HELLO, user })
  const lines = [
    'POST /v1/chat/completions HTTP/1.1',
    'Host: gateway',
    `Authorization: Bearer ${gateway.apiKey}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ].join('\r\n')
  const agent = userAgent === null ? [] : [Buffer.from('\r\nUser-Agent: '), userAgent]
  const socket = connect(gateway.port, '127.0.0.1')
  const pieces: Buffer[] = []
  socket.on('data', (piece: Buffer) => pieces.push(piece))
  socket.write(Buffer.concat([Buffer.from(lines), ...agent, Buffer.from(`\r\n\r\n${body}`)]))
  const text = (): string => Buffer.concat(pieces).toString()
  while (!text().includes('"usage"')) await once(socket, 'data')
  socket.destroy()
  return text()
}

const idOf = (answer: string): { id: string } => ({ id: /^x-request-id: (\S+)/im.exec(answer)?.[1] ?? '' })

describe('passes a User-Agent on byte for byte, and logs it:', () => {
  it.each<readonly [name: string, bytes: Buffer]>([
    ['plain', Buffer.from('claude-cli/2.0.14 (external, cli)')],
    ['with marks of all kinds', Buffer.from(`x !"#$%&'()*+,-./:;<=>?@[\\]^_\`{|}~`)],
    ['with blanks and a tab within', Buffer.from('a  b\tc')],
    ['in Latin-1', Buffer.from('Gr\u00fc\u00dfe/1.0 \u00a1\u00ff\u00a0\u0080! x', 'latin1')],
    ['in UTF-8', Buffer.from('agent/日本語 – ключ ✓ end')],
    ['of one character', Buffer.from('x')],
    ['of 512 characters', Buffer.from('u'.repeat(512))],
  ])('%s', async (_name, bytes) => {
    const mark = uniqueMark()
    const answer = await sendRaw(bytes, mark)
    expect(answer).toMatch(/^HTTP\/1\.1 200 /)
    const [arrival] = arrivals(simulator, mark)
    // The simulator reads header values as one character per byte.
    const received = Buffer.from(arrival?.headers['user-agent'] ?? '', 'latin1')
    expect(received.toString('hex')).toBe(bytes.toString('hex'))
    await expectRow(gateway, idOf(answer), { status: 200, user_agent: bytes.toString('latin1') })
  })
})

// The server's parser trims trailing bytes of 0x80 and above like blanks: known, and nothing can be done about it here.
it('loses nothing of a User-Agent but such bytes at its very end', async () => {
  const mark = uniqueMark()
  await sendRaw(Buffer.from('caf\u00e9', 'latin1'), mark)
  expect(arrivals(simulator, mark)[0]?.headers['user-agent']).toMatch(/^caf\u00e9?$/)
})

it('passes a long one on whole and logs its beginning', async () => {
  const mark = uniqueMark()
  const long = `long/${'y'.repeat(4_000)}`
  const answer = await sendRaw(Buffer.from(long), mark)
  expect(arrivals(simulator, mark)[0]?.headers['user-agent']).toBe(long)
  await expectRow(gateway, idOf(answer), { status: 200, user_agent: long.slice(0, 512) })
})

it('invents none where the client sent none', async () => {
  const mark = uniqueMark()
  const answer = await sendRaw(null, mark)
  expect(arrivals(simulator, mark)[0]?.headers['user-agent']).toBeUndefined()
  await expectRow(gateway, idOf(answer), { status: 200, user_agent: '' })
})

it('logs the User-Agent of refused requests too, and finds rows by it', async () => {
  const userAgent = `refused/${uniqueMark()}`
  const answer = await chat(gateway, { n: 0 }, { 'user-agent': userAgent })
  await expectRow(gateway, answer, { status: 400, user_agent: userAgent })
  expect((await gateway.logRows({ user_agent: userAgent })).map(({ id }) => id)).toEqual([answer.id])
})

it('passes on those of the official clients', async () => {
  const openai = new OpenAI({ apiKey: gateway.apiKey, baseURL: `${gateway.url}/v1` })
  const user = uniqueMark()
  await openai.chat.completions.create({ model: 'm', messages: [...HELLO.messages], user })
  expect(arrivals(simulator, user)[0]?.headers['user-agent']).toMatch(/^OpenAI\/JS \d/)

  const anthropic = new Anthropic({ apiKey: gateway.apiKey, baseURL: gateway.url })
  const user_id = uniqueMark()
  await anthropic.messages.create({ ...HELLO_MESSAGES, messages: [...HELLO.messages], metadata: { user_id } })
  expect(arrivals(simulator, user_id)[0]?.headers['user-agent']).toMatch(/^Anthropic\/JS \d/)
})
