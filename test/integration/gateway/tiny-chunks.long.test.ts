import { once } from 'node:events'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { freePort } from '../../support/free-port.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { ManagementClient } from '../../support/management-client.ts'
import { residentBytes } from '../../support/process-memory.ts'
import { requestText, WireClient } from '../../support/wire-client.ts'

const MIB = 1024 * 1024
/**
 * What V8 lets lie about before it collects; Node's own HTTP server, which the control process has, makes more of it. A Buffer for
 * each byte takes 100 to 150 times the bytes, and as much again beside that server.
 */
const GARBAGE_BYTES = { front: 60 * MIB, control: 160 * MIB } as const
const CHUNK = '1\r\n \r\n'

let gateway: TestGateway
let managementPort: number
let token: string

beforeAll(async () => {
  managementPort = await freePort()
  gateway = await startGateway({
    fronts: 1,
    config: { management: { port: managementPort }, server: { body_timeout_ms: 600_000 } },
  })
  token = (await ManagementClient.ofAdmin(gateway)).token ?? ''
})

afterAll(async () => {
  await gateway.stop()
})

interface Sending {
  readonly name: string
  readonly kind: 'front' | 'control'
  readonly port: () => number
  readonly path: string
  readonly credential: () => string
  readonly json: object
  readonly bytes: number
}

/** Sends the JSON behind so many blanks, in chunks of a byte, and says by how much the process grew until it had answered. */
async function growthWhileSending({ kind, port, path, credential, json, bytes }: Sending): Promise<number> {
  const pid = gateway.children().find((child) => child.kind === kind)?.pid ?? 0
  const fields = ['Host: a', `Authorization: Bearer ${credential()}`, 'Content-Type: application/json']
  const text = JSON.stringify(json)
  const client = await WireClient.connect(port())
  client.send(requestText(`POST ${path} HTTP/1.1`, [...fields, 'Transfer-Encoding: chunked']))
  const before = residentBytes(pid)
  const blanks = Buffer.alloc((bytes / 64) * CHUNK.length, CHUNK)
  let most = before
  for (let part = 0; part < 64; part++) {
    if (!client.socket.write(blanks)) await once(client.socket, 'drain')
    most = Math.max(most, residentBytes(pid))
  }
  client.send(`${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`)
  await eventually(
    () => {
      most = Math.max(most, residentBytes(pid))
      expect(client.answers.map(({ status }) => status)).toEqual([expect.toBeOneOf([200, 201])])
    },
    { everyMs: 5, timeoutMs: 60_000 },
  )
  client.close()
  return most - before
}

const CHAT = { model: 'sim-gpt', messages: [{ role: 'user', content: 'x' }] }
const SENDINGS: readonly Sending[] = [
  {
    name: 'an AI request',
    kind: 'front',
    port: () => gateway.port,
    path: '/v1/chat/completions',
    credential: () => gateway.apiKey,
    json: CHAT,
    bytes: 2 * MIB,
  },
  {
    name: 'a management request through a front',
    kind: 'front',
    port: () => gateway.port,
    path: '/api/keys',
    credential: () => token,
    json: { name: 'through a front' },
    bytes: 2 * MIB,
  },
  {
    name: 'a management request on its own listener',
    kind: 'control',
    port: () => managementPort,
    path: '/api/keys',
    credential: () => token,
    json: { name: 'on its own listener' },
    bytes: MIB,
  },
]

it.each(SENDINGS)(
  '$name that comes in chunks of one byte costs the $kind process at most twice its bytes',
  { timeout: 300_000 },
  async (sending) => {
    expect(await growthWhileSending(sending)).toBeLessThan(2 * sending.bytes + GARBAGE_BYTES[sending.kind])
  },
)
