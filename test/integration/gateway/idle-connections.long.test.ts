import { readdirSync } from 'node:fs'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, it } from 'vitest'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { WireClient, requestText } from '../../support/wire-client.ts'

const OPEN_FILES = 256
const MORE_THAN_FIT = 400
const ROUNDS = 3

let simulator: Simulator
let gateway: TestGateway
const sockets: Socket[] = []

async function start(server: object = {}): Promise<void> {
  simulator = await startSimulator()
  gateway = await startGateway({
    upstreams: [{ dialect: 'openai-chat', baseUrl: `${simulator.origin}/v1`, models: ['m'] }],
    config: { workers: { threads: 1 }, server },
    openFiles: OPEN_FILES,
  })
}

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await gateway.stop()
  await simulator.close()
})

function chat(stream: boolean, behaviour: object = {}): string {
  const content = `Hello [[sim ${JSON.stringify(behaviour)}]]`
  const body = JSON.stringify({ model: 'm', stream, messages: [{ role: 'user', content }] })
  const headers = ['Host: a', `Authorization: Bearer ${gateway.apiKey}`, 'Content-Type: application/json']
  return requestText('POST /v1/chat/completions HTTP/1.1', [...headers, `Content-Length: ${body.length}`], body)
}

/** Connections that say nothing; resolves when each of them is known to the kernel. */
async function openIdle(count: number): Promise<void> {
  const opened = Array.from({ length: count }, () => {
    const socket = connect({ port: gateway.port, host: '127.0.0.1' })
    sockets.push(socket)
    socket.on('error', () => undefined).resume()
    return new Promise((resolve) => {
      socket.once('connect', resolve)
      socket.once('close', resolve)
    })
  })
  await Promise.all(opened)
}

function frontPid(): number {
  return gateway.children().find(({ kind }) => kind === 'front')?.pid ?? 0
}

function descriptorsOfFront(): number {
  return readdirSync(`/proc/${frontPid()}/fd`).length
}

async function expectNewConnectionServed(): Promise<void> {
  await eventually(async () => {
    const client = await WireClient.connect(gateway.port)
    try {
      const [answer] = await client.send(chat(false)).waitFor(1, 1_000)
      expect(answer?.status).toBe(200)
    } finally {
      client.close()
    }
  })
}

it('survives more idle connections than descriptors: requests are served, and new connections when the idle ones leave', async () => {
  await start()
  const processes = gateway.children()
  const early = await WireClient.connect(gateway.port)
  await early.send(chat(false)).waitFor(1)
  for (let round = 1; round <= ROUNDS; round++) {
    await openIdle(MORE_THAN_FIT)
    // What does not fit is closed at once, not left to wait in the listener's queue.
    await eventually(() => {
      expect(sockets.filter(({ closed }) => !closed).length).toBeLessThan(OPEN_FILES / 2)
    })
    expect(descriptorsOfFront()).toBeLessThan(OPEN_FILES)
    early.forget()
    const [whole] = await early.send(chat(false)).waitFor(1)
    expect(whole?.status).toBe(200)
    early.forget()
    const [stream] = await early.send(chat(true)).waitFor(1)
    expect(stream?.body.toString()).toContain('data: [DONE]')
    for (const socket of sockets.splice(0)) socket.destroy()
    await expectNewConnectionServed()
  }
  early.close()
  expect(gateway.children()).toEqual(processes)
  expect(gateway.output).not.toContain('EMFILE')
  expect(gateway.output).toContain('few files may be open')
})

it('has a descriptor for the upstream call of every connection that it takes', async () => {
  await start()
  const clients = await Promise.all(Array.from({ length: MORE_THAN_FIT }, () => WireClient.connect(gateway.port)))
  await eventually(() => {
    expect(clients.filter(({ closed }) => !closed).length).toBeLessThan(OPEN_FILES / 2)
  })
  const taken = clients.filter(({ closed }) => !closed)
  const request = chat(true, { tokens: 20, eventsPerSecond: 10 })
  for (const client of taken) client.send(request)
  await eventually(() => {
    expect(simulator.ledger.of('upstream-credential-0').maxInFlight).toBe(taken.length)
  })
  for (const client of taken) {
    const [answer] = await client.waitFor(1)
    expect(answer?.status).toBe(200)
    expect(answer?.body.toString()).toContain('data: [DONE]')
    client.close()
  }
  expect(taken.length).toBeGreaterThan(OPEN_FILES / 4)
})

it('closes one TLS connection too many at once, before and after its handshake', async () => {
  const file = (name: string): string => fileURLToPath(new URL(`../../fixtures/tls/${name}`, import.meta.url))
  await start({ tls: { cert_file: file('localhost.crt'), key_file: file('localhost.key') } })
  const processes = gateway.children()
  await openIdle(MORE_THAN_FIT)
  for (let late = 0; late < 20; late++) {
    const socket = connectTls({ port: gateway.port, host: '127.0.0.1', rejectUnauthorized: false })
    socket.on('error', () => undefined).resume()
    sockets.push(socket)
  }
  await eventually(() => {
    expect(sockets.filter(({ closed }) => !closed).length).toBeLessThan(OPEN_FILES / 2)
  })
  for (const socket of sockets.splice(0)) socket.destroy()
  await eventually(async () => {
    const socket = connectTls({ port: gateway.port, host: '127.0.0.1', rejectUnauthorized: false })
    sockets.push(socket)
    let text = ''
    socket.on('data', (bytes) => (text += bytes.toString())).on('error', () => undefined)
    socket.write(chat(false))
    await eventually(
      () => {
        expect(text).toContain('HTTP/1.1 200')
      },
      { timeoutMs: 2_000 },
    )
  })
  expect(gateway.children()).toEqual(processes)
})
