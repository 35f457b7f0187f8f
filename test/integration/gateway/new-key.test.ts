import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, inject, it } from 'vitest'
import { generateApiKey } from '../../../src/shared/core/api-key.ts'
import { call } from '../../support/ai-calls.ts'
import { itLater } from '../../support/dose.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { ManagementClient } from '../../support/management-client.ts'
import { createTestDatabase } from '../../support/test-database.ts'

/** Two machines on one database, without anything else in common. */
let here: TestGateway
let there: TestGateway
let admin: ManagementClient

beforeAll(async () => {
  const database = { url: await createTestDatabase(inject('postgresUrl')) }
  const env = {
    SLUICE_SECRET_KEY_HASH: randomBytes(32).toString('base64'),
    SLUICE_SECRET_JWT: `test:${randomBytes(32).toString('base64')}`,
  }
  const config = { limits: { address_failures_per_minute: 40 } }
  here = await startGateway({ database, env, fronts: 2, config })
  there = await startGateway({ database, env, config })
  admin = await ManagementClient.ofAdmin(here)
})

afterAll(async () => {
  await Promise.all([here.stop(), there.stop()])
})

/** The status that a client gets which, as those of the SDKs, asks again after a 503. On a busy machine the store may be out of reach for seconds. */
const statusAtLast = (gateway: TestGateway, key: string): Promise<number> =>
  eventually(async () => {
    const status = await statusOf(gateway, key)
    if (status === 503) throw new Error('the gateway could not look into its store')
    return status
  })

const statusOf = async (gateway: TestGateway, key: string): Promise<number> =>
  (await call(gateway, { path: '/v1/models', headers: { authorization: `Bearer ${key}` } })).status

async function createKey(name: string): Promise<{ readonly id: string; readonly key: string }> {
  const { json } = await admin.expect('createKey', 201, { body: { name } })
  return { id: String(json['id']), key: String(json['key']) }
}

it.each([
  ['on its own machine', () => here],
  ['on another machine', () => there],
])('takes a new key from the moment its creation is answered, %s', async (_where, gateway) => {
  const statuses: number[] = []
  for (let i = 0; i < 20; i++) {
    const { key } = await createKey(`new ${i}`)
    // Each is a connection of its own, to any of the fronts.
    statuses.push(...(await Promise.all([key, key, key].map((one) => statusAtLast(gateway(), one)))))
  }
  expect(statuses.filter((status) => status !== 200)).toEqual([])
})

it('takes a key from the moment it is turned on again', async () => {
  const { id, key } = await createKey('on and off')
  for (let i = 0; i < 5; i++) {
    await admin.expect('toggleKey', 200, { params: { id }, body: { enabled: false } })
    await eventually(async () => {
      expect(await statusOf(there, key)).toBe(401)
    })
    await admin.expect('toggleKey', 200, { params: { id }, body: { enabled: true } })
    expect(await statusAtLast(there, key)).toBe(200)
  }
})

it('refuses keys that nobody has, and those of one address without a look once they are too many', async () => {
  const statuses = new Set<number>()
  for (let i = 0; i < 60; i++) {
    statuses.add(await statusOf(there, generateApiKey()))
  }
  expect([...statuses]).toEqual([401, 429])
})

itLater('says that it cannot tell, not that a key is wrong, while nobody can look into the store', async () => {
  for (const { kind, pid } of here.children()) if (kind === 'control') process.kill(pid, 'SIGSTOP')
  try {
    const answer = await call(here, { path: '/v1/models', headers: { authorization: `Bearer ${generateApiKey()}` } })
    expect(answer.status).toBe(503)
    expect(answer.headers.get('retry-after')).toBe('1')
    expect(await statusOf(here, here.apiKey)).toBe(200)
  } finally {
    for (const { kind, pid } of here.children()) if (kind === 'control') process.kill(pid, 'SIGCONT')
  }
})
