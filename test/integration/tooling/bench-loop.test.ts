import { createServer as createSecureServer } from 'node:https'
import { createServer } from 'node:net'
import type { AddressInfo, Server } from 'node:net'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { expect, it, onTestFinished } from 'vitest'
import { closedLoop } from '../../../src/cli/bench/closed-loop.ts'
import type { OpenAnswer } from '../../../src/cli/bench/open-loop.ts'

const CHAT = '{"choices":[{"message":{"content":"1 2"}}],"usage":{"prompt_tokens":7,"completion_tokens":2}}'
const ANSWER = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${CHAT.length}\r\n\r\n${CHAT}`

/** A server on a free port of this machine. */
async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
  })
  return (server.address() as AddressInfo).port
}

interface Load {
  readonly connections: number
  readonly requests: number
  readonly maxMs?: number
  readonly signal?: AbortSignal
  readonly onAnswer?: () => void
}

async function load(url: string, { connections, requests, maxMs = 60_000, ...more }: Load) {
  const answers: OpenAnswer[] = []
  const request = { url, headers: { authorization: 'Bearer sk-secret' }, body: '{}' }
  const seconds = await closedLoop(request, {
    connections,
    requests,
    maxMs,
    signal: more.signal ?? new AbortController().signal,
    onAnswer: (answer) => {
      answers.push(answer)
      more.onAnswer?.()
    },
  })
  return { answers, seconds }
}

it('sends as many requests as were asked for, over as many connections, and times them as they took', async () => {
  let connections = 0
  const port = await listening(
    createServer((socket) => {
      connections += 1
      socket.on('data', () => socket.write(ANSWER)).on('error', () => undefined)
    }),
  )
  const { answers, seconds } = await load(`http://127.0.0.1:${port}/`, { connections: 3, requests: 10 })
  expect(answers.map(({ status, usage, fault }) => ({ status, usage, fault }))).toEqual(
    Array.from({ length: 10 }, () => ({ status: 200, usage: { prompt: 7, completion: 2 }, fault: null })),
  )
  expect(connections).toBe(3)
  const busiestMs = answers.reduce((sum, { totalMs }) => sum + totalMs, 0)
  expect(seconds * 1000).toBeLessThanOrEqual(busiestMs + 1_000)
  expect(seconds % 1).not.toBe(0)
})

it('sends no key to a server whose certificate is not trusted', async () => {
  const file = (name: string): Buffer => readFileSync(new URL(`../../fixtures/tls/${name}`, import.meta.url))
  let requests = 0
  const server = createSecureServer({ cert: file('localhost.crt'), key: file('localhost.key') }, (_, response) => {
    requests += 1
    response.end(CHAT)
  })
  const port = await listening(server)
  const { answers } = await load(`https://localhost:${port}/`, { connections: 2, requests: 4 })
  expect(requests).toBe(0)
  expect(answers).toHaveLength(4)
  for (const { status, fault } of answers) expect([status, fault]).toEqual([0, expect.stringMatching(/certificate/)])
})

it('counts a connection that is closed in place of an answer as a failure', async () => {
  const port = await listening(
    createServer((socket) => {
      socket.on('data', () => socket.end()).on('error', () => undefined)
    }),
  )
  const { answers } = await load(`http://127.0.0.1:${port}/`, { connections: 2, requests: 6 })
  expect(answers).toHaveLength(6)
  for (const { status, fault } of answers) expect([status, typeof fault]).toEqual([0, 'string'])
})

it('sends nothing more after its time', async () => {
  const port = await listening(
    createServer((socket) => {
      socket.on('data', () => socket.write(ANSWER)).on('error', () => undefined)
    }),
  )
  const { answers } = await load(`http://127.0.0.1:${port}/`, { connections: 2, requests: 100_000_000, maxMs: 50 })
  expect(answers.length).toBeGreaterThan(0)
})

it('ends when it is interrupted, with the reason', async () => {
  const port = await listening(
    createServer((socket) => {
      socket.on('error', () => undefined)
    }),
  )
  const controller = new AbortController()
  const running = load(`http://127.0.0.1:${port}/`, { connections: 2, requests: 4, signal: controller.signal })
  controller.abort(new Error('interrupted'))
  await expect(running).rejects.toThrow('interrupted')
})
