import { afterAll, beforeAll, expect, it } from 'vitest'
import type { EndRecord } from '../../../src/shared/core/request-record.ts'
import type { Database } from '../../../src/control/store/database.ts'
import { addDeadLetters } from '../../../src/control/store/journal.ts'
import { openPostgres } from '../../../src/control/store/postgres-database.ts'
import { generateApiKey } from '../../../src/shared/core/api-key.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { anEnd } from '../../contract/journal-records.ts'
import { framesOf } from '../../contract/test-journal.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { ManagementClient } from '../../support/management-client.ts'

const SEGMENT = 'front9-gone-00000001.seg'
const COST = 1_234
const MONTHLY_TOKENS = 1_000_000
const budgeted = generateApiKey()

let simulator: Simulator
let gateway: TestGateway
let database: Database
let admin: ManagementClient
let enterpriseId: string
let last = 0

beforeAll(async () => {
  simulator = await startSimulator()
  // The letters are put into its tables: what a database refuses today it takes tomorrow.
  gateway = await startGateway({
    database: 'postgres',
    upstreams: [{ dialect: 'openai-chat', baseUrl: `${simulator.origin}/v1`, models: ['m'] }],
    keys: [{ name: 'budgeted', key: budgeted, monthly_tokens: MONTHLY_TOKENS }],
  })
  database = openPostgres({
    url: gateway.databaseUrl ?? '',
    maxConnections: 1,
    statementTimeoutMs: 60_000,
    onConnectionError: () => undefined,
  })
  admin = await ManagementClient.ofAdmin(gateway)
  enterpriseId = String((await admin.expect('adminCreateEnterprise', 201, { body: { name: 'Looms' } })).json['id'])
})

afterAll(async () => {
  await database.close()
  await gateway.stop()
  await simulator.close()
})

const errorCode = ({ json }: { json: Record<string, unknown> }): unknown => (json['error'] as { code?: unknown }).code

const endOf = (id: string): EndRecord => anEnd(id, { atMs: Date.now(), enterpriseId, callCostMicro: COST })

/** Puts a dead letter there; resolves to its id. */
async function plant(bytes: Buffer, reason = 'planted'): Promise<string> {
  last += 1
  await addDeadLetters(database, 'node-of-before', [{ segment: SEGMENT, position: last, reason, bytes }])
  const letter = (await letters()).find(({ position }) => position === last)
  return String(letter?.['id'])
}

async function letters(): Promise<Array<Record<string, unknown>>> {
  return (await admin.expect('adminDeadLetters', 200)).json['data'] as Array<Record<string, unknown>>
}

async function charged(): Promise<unknown> {
  return (await admin.expect('getWallet', 200, { params: { id: enterpriseId } })).json['charged']
}

async function audited(operation: string): Promise<Array<Record<string, unknown>>> {
  const { json } = await admin.expect('adminAudit', 200, { query: { operation, access: 'platform-admin' } })
  return json['data'] as Array<Record<string, unknown>>
}

it('are settled once, however many retry them at the same time', async () => {
  const id = await plant(framesOf(endOf('retried')))
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => admin.call('adminRetryDeadLetter', { params: { id } })),
  )
  expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array.from({ length: 7 }, () => 404)])
  expect(answers.find(({ status }) => status === 200)?.json).toEqual({
    request_id: 'retried',
    cost: COST,
    interrupted: false,
  })
  const rows = (await gateway.logRows()).filter(({ id: request }) => request === 'retried')
  expect(rows).toMatchObject([{ settlement: 'exact', status: 200 }])
  expect([await charged(), await letters()]).toEqual([COST, []])
  expect(await audited('adminRetryDeadLetter')).toMatchObject([
    {
      target_id: id,
      outcome: 'done',
      changes: expect.arrayContaining([
        { field: 'reason', old: 'planted', new: null },
        { field: 'request_id', old: null, new: 'retried' },
        { field: 'cost', old: null, new: COST },
      ]) as unknown,
    },
  ])
  expect(errorCode(await admin.call('adminRetryDeadLetter', { params: { id } }))).toBe('NOT_FOUND')
})

it('count against budgets that are in use already', async () => {
  // Each request reserves a third of the budget, and uses next to nothing of it.
  const content = `hi [[sim ${JSON.stringify({ tokens: 1 })}]]`
  const sent = { model: 'm', max_tokens: Math.floor(MONTHLY_TOKENS / 3), messages: [{ role: 'user', content }] }
  const ask = (): Promise<Response> =>
    fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${budgeted}`, 'content-type': 'application/json' },
      body: JSON.stringify(sent),
    })
  const first = await ask()
  expect(first.status).toBe(200)
  const { key_id: keyId } = await gateway.logRow(first.headers.get('x-request-id') ?? '')
  const usage = { ...anEnd('late').usage, completionTokens: MONTHLY_TOKENS }
  const id = await plant(framesOf({ ...endOf('late'), keyId, enterpriseId: null, usage }))
  await admin.expect('adminRetryDeadLetter', 200, { params: { id } })
  await eventually(async () => {
    const answer = await ask()
    expect(answer.status).toBe(429)
    expect(errorCode({ json: (await answer.json()) as Record<string, unknown> })).toBe('BUDGET_EXHAUSTED')
  })
})

it('stay when they cannot be settled, and say why', async () => {
  const record = endOf('twice')
  await admin.expect('adminRetryDeadLetter', 200, { params: { id: await plant(framesOf(record)) } })
  const before = await charged()
  for (const [bytes, why] of [
    [framesOf(record), 'has this request already'],
    [Buffer.from('nothing that is a record'), 'not a record'],
    [framesOf({ ...endOf('old'), atMs: Date.now() - 400 * 86_400_000 }), 'older than what the log keeps'],
  ] as const) {
    const id = await plant(bytes, why)
    const answer = await admin.expect('adminRetryDeadLetter', 409, { params: { id } })
    expect(answer.json).toMatchObject({ error: { code: 'CONFLICT', message: expect.stringContaining(why) as string } })
    expect((await letters()).map(({ reason }) => reason)).toContain(why)
  }
  expect([await charged(), (await letters()).length]).toEqual([before, 3])
})

it('are discarded for good, and nobody is charged', async () => {
  const before = await charged()
  const id = await plant(framesOf(endOf('discarded')), 'to be discarded')
  await admin.expect('adminDiscardDeadLetter', 204, { params: { id } })
  expect((await letters()).map(({ reason }) => reason)).not.toContain('to be discarded')
  for (const name of ['adminDiscardDeadLetter', 'adminRetryDeadLetter'] as const) {
    expect(errorCode(await admin.call(name, { params: { id } }))).toBe('NOT_FOUND')
    expect(errorCode(await admin.call(name, { params: { id: 'no-such-place' } }))).toBe('NOT_FOUND')
  }
  expect(await charged()).toBe(before)
  const [entry] = await audited('adminDiscardDeadLetter')
  expect(entry).toMatchObject({ target_id: id, outcome: 'done' })
  expect(entry?.['changes']).toContainEqual({ field: 'reason', old: 'to be discarded', new: null })
})
