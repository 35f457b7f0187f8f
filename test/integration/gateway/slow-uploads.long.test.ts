import { afterAll, beforeAll, expect, it } from 'vitest'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { ManagementClient } from '../../support/management-client.ts'
import { serverPatience } from '../../support/server-patience.ts'
import { requestText, WireClient } from '../../support/wire-client.ts'

/** Twice what the server's own timer waits for anyone, and more. */
const BODY_TIMEOUT_MS = 40_000
const CHAT = JSON.stringify({ model: 'sim-gpt', messages: [{ role: 'user', content: 'x' }] })

let gateway: TestGateway
let token: string

beforeAll(async () => {
  gateway = await startGateway({ config: { server: { body_timeout_ms: BODY_TIMEOUT_MS } } })
  token = (await ManagementClient.ofAdmin(gateway)).token ?? ''
})

afterAll(async () => {
  await gateway.stop()
})

/** Sends a head and the first half of the body. */
async function begin(path: string, credential: string, body: string): Promise<WireClient> {
  const fields = ['Host: a', `Authorization: Bearer ${credential}`, 'Content-Type: application/json']
  const client = await WireClient.connect(gateway.port)
  return client.send(
    requestText(
      `POST ${path} HTTP/1.1`,
      [...fields, `Content-Length: ${body.length}`],
      body.slice(0, body.length >> 1),
    ),
  )
}

it(
  'lets an upload that pauses live past the server’s own timer, up to body_timeout_ms, and then answers 408',
  { timeout: 150_000 },
  async () => {
    const key = JSON.stringify({ name: 'slow' })
    const [chat, management, silent, dripping] = await Promise.all([
      begin('/v1/chat/completions', gateway.apiKey, CHAT),
      begin('/api/keys', token, key),
      begin('/v1/chat/completions', gateway.apiKey, CHAT),
      begin('/v1/chat/completions', gateway.apiKey, CHAT + ' '.repeat(10_000)),
    ])
    const drip = setInterval(() => dripping.send(' '), 500)
    try {
      await serverPatience(gateway.port)
      for (const client of [chat, management, silent, dripping])
        expect([client.closed, client.text]).toEqual([false, ''])
      chat.send(CHAT.slice(CHAT.length >> 1))
      management.send(key.slice(key.length >> 1))
      expect((await chat.waitFor(1)).map(({ status }) => status)).toEqual([200])
      expect((await management.waitFor(1)).map(({ status }) => status)).toEqual([201])
      for (const client of [silent, dripping]) {
        const answers = await client.waitForClose(90_000)
        expect(answers.map(({ status }) => status)).toEqual([408])
        expect(answers[0]?.body.toString()).toContain('BODY_TIMEOUT')
      }
    } finally {
      clearInterval(drip)
      for (const client of [chat, management, silent, dripping]) client.close()
    }
  },
)
