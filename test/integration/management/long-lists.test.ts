import { afterAll, beforeAll, expect, it } from 'vitest'
import type { OperationName } from '../../../src/shared/api/operations/index.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { chat } from '../../support/ai-calls.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { ManagementClient } from '../../support/management-client.ts'

const REQUESTS = 5

let simulator: Simulator
let gateway: TestGateway
let admin: ManagementClient

beforeAll(async () => {
  simulator = await startSimulator()
  gateway = await startGateway({
    upstreams: [{ dialect: 'openai-chat', baseUrl: `${simulator.origin}/v1`, models: ['m'] }],
  })
  admin = await ManagementClient.ofAdmin(gateway)
})

afterAll(async () => {
  await gateway.stop()
  await simulator.close()
})

/** Pages and cursors over entries of which there are five. */
async function walk(name: OperationName, params: Readonly<Record<string, string>> = {}): Promise<void> {
  const ask = (query: Readonly<Record<string, string>>) => admin.call(name, { params, query })
  const idsOf = ({ json }: { readonly json: Record<string, unknown> }): string[] =>
    (json['data'] as Array<{ id: string }>).map(({ id }) => id)
  const all = await ask({ limit: '100' })
  expect(all.json).toMatchObject({ page: 1, limit: 100, total: REQUESTS, has_more: false, next_cursor: null })
  const ids = idsOf(all)

  const pages = [await ask({ limit: '2' }), await ask({ limit: '2', page: '2' }), await ask({ limit: '2', page: '3' })]
  expect(pages.flatMap(idsOf)).toEqual(ids)
  expect(pages.map(({ json }) => [json['page'], json['total'], json['has_more']])).toEqual([
    [1, REQUESTS, true],
    [2, REQUESTS, true],
    [3, REQUESTS, false],
  ])
  expect((await ask({ limit: '2', page: '4' })).json).toMatchObject({ data: [], page: 4, has_more: false })

  const cursor = String(pages[0]?.json['next_cursor'])
  const next = await ask({ limit: '2', cursor })
  expect(idsOf(next)).toEqual(ids.slice(2, 4))
  expect(next.json).not.toHaveProperty('total')
  expect(next.json).not.toHaveProperty('page')

  for (const [query, param] of [
    [{ cursor, page: '2' }, '/page'],
    [{ page: '101', limit: '100' }, '/page'],
    [{ page: '0' }, '/page'],
    [{ cursor: 'bm90IG91cnM' }, '/cursor'],
    [{ cursor: 'W10' }, '/cursor'],
  ] as const) {
    expect(await ask(query), JSON.stringify(query)).toMatchObject({ status: 400, json: { error: { param } } })
  }
}

it('the request log goes by pages, and by cursor', async () => {
  const key = await admin.expect('createKey', 201, { body: { name: 'pages' } })
  const { id: keyId, key: secret } = key.json as { id: string; key: string }
  const ask = async (): Promise<void> => {
    const answer = await chat(gateway, {}, { authorization: `Bearer ${secret}` })
    expect(answer.status).toBe(200)
  }
  // The fronts have yet to hear of the key.
  await eventually(ask)
  for (let n = 1; n < REQUESTS; n++) await ask()
  await eventually(async () => {
    const { json } = await admin.expect('listLogs', 200, { query: { key_id: keyId } })
    expect(json['total']).toBe(REQUESTS)
  })
  await walk('listLogs')
})

it('the movements of a wallet go by pages, and by cursor', async () => {
  const { json } = await admin.expect('adminCreateEnterprise', 201, { body: { name: 'Acme' } })
  const id = String(json['id'])
  for (let n = 0; n < REQUESTS; n++) {
    const body = { amount: 1, currency: 'USD', reference: `payment ${n}` }
    await admin.expect('topUpWallet', 200, { params: { id }, body })
  }
  await walk('listTransactions', { id })
})
