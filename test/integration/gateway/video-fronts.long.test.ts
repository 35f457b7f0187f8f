import { mkdtempSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { generateApiKey } from '../../../src/shared/core/api-key.ts'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { killChild, recovered } from '../../support/nemesis.ts'
import { copyMadeDatabase } from '../../support/program.ts'
import { itLater } from '../../support/dose.ts'

const FRONTS = 3
const PATH = '/v1/video/generations'
const KEY = generateApiKey()

let simulator: Simulator
let gateway: TestGateway
let dataDir: string

const start = (): Promise<TestGateway> =>
  startGateway({
    fronts: FRONTS,
    dataDir,
    database: 'pglite',
    upstreams: [{ dialect: 'openai-chat', baseUrl: `${simulator.origin}/v1`, models: ['m'] }],
    keys: [{ name: 'declared', key: KEY }],
    config: { video: { poll_first_ms: 50, poll_max_ms: 100 } },
  })

beforeAll(async () => {
  simulator = await startSimulator()
  dataDir = mkdtempSync(join(tmpdir(), 'sluice-test-'))
  copyMadeDatabase(dataDir)
  gateway = await start()
})

afterAll(async () => {
  await gateway.stop()
  await simulator.close()
  rmSync(dataDir, { recursive: true, force: true })
})

interface Answer {
  readonly status: number
  readonly json: { id?: string; status?: string; error?: { code: string } }
}

/** On a connection of its own: which front it gets is up to the kernel. */
function call(method: 'GET' | 'POST', path: string, body?: object): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
    const outgoing = request(gateway.url + path, { method, headers, agent: false }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () => {
        const json = JSON.parse(Buffer.concat(chunks).toString()) as Answer['json']
        resolve({ status: response.statusCode ?? 0, json })
      })
    })
    outgoing.on('error', reject)
    outgoing.end(body === undefined ? '' : JSON.stringify(body))
  })
}

const many = (count: number, one: () => Promise<Answer>): Promise<Answer[]> =>
  Promise.all(Array.from({ length: count }, one))

it('begins one job for the same request at all fronts, and each of them tells how it goes', async () => {
  simulator.reset()
  const body = { model: 'm', prompt: 'waves at all fronts', async: true }
  const atOnce = await many(12, () => call('POST', PATH, body))
  for (const { status, json } of atOnce) {
    expect([200, 409]).toContain(status)
    if (status === 409) expect(json.error?.code).toBe('VIDEO_BEING_CREATED')
  }
  const later = await many(12, () => call('POST', PATH, body))
  const ids = new Set([...atOnce, ...later].filter(({ status }) => status === 200).map(({ json }) => json.id))
  expect(later.map(({ status }) => status)).toEqual(Array<number>(12).fill(200))
  expect([ids.size, simulator.stats().videosCreated]).toEqual([1, 1])
  const seen = await many(12, () => call('GET', `${PATH}/${[...ids][0] ?? ''}`))
  expect(seen.map(({ json }) => json.status)).toEqual(Array<string>(12).fill('completed'))
})

it('goes by what a front knows itself while the control process is away', async () => {
  simulator.reset()
  const control = gateway.children().find(({ kind }) => kind === 'control')
  await killChild(gateway, 'control', control?.pid ?? 0)
  const answer = await call('POST', PATH, { model: 'm', prompt: 'waves without control' })
  expect([answer.status, answer.json.status]).toEqual([200, 'completed'])
})

itLater('knows the job of a request after a restart', async () => {
  await recovered(gateway, FRONTS)
  simulator.reset()
  const body = { model: 'm', prompt: 'waves before and after', async: true }
  const before = await call('POST', PATH, body)
  expect(before.status).toBe(200)
  await gateway.stop()
  gateway = await start()
  const after = await call('POST', PATH, body)
  expect(after.json.id).toBe(before.json.id)
  expect((await call('GET', `${PATH}/${before.json.id ?? ''}`)).json.status).toBe('completed')
  expect(simulator.stats().videosCreated).toBe(1)
})
