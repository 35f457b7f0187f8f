import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { ManagementClient } from '../../support/management-client.ts'
import { startTwoMachines } from '../../support/two-machines.ts'
import type { TwoMachines } from '../../support/two-machines.ts'

const REQUESTS = 8

describe.runIf(inject('database') === 'postgres')('two machines with one database', () => {
  let machines: TwoMachines
  let admin: ManagementClient

  beforeAll(async () => {
    machines = await startTwoMachines()
    admin = machines.admin
  }, 180_000)

  afterAll(() => machines.stop())

  async function ask(url: string, key: string): Promise<{ id: string; text: string }> {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', connection: 'close' },
      body: JSON.stringify({ model: 'm', max_tokens: 5, messages: [{ role: 'user', content: 'hi' }] }),
    })
    const text = await response.text()
    return { id: response.headers.get('x-request-id') ?? '', text }
  }

  it('capture the requests of all fronts, and erase those of all', { timeout: 120_000 }, async () => {
    const capture = { requests: true, answers: true }
    const made = await admin.expect('adminCreateEnterprise', 201, { body: { name: 'Acme', capture } })
    const id = String(made.json['id'])
    const key = String(
      (await admin.expect('createEnterpriseKey', 201, { params: { id }, body: { name: 'k' } })).json['key'],
    )
    const asked = await Promise.all(
      machines.gateways.flatMap(({ url }) => Array.from({ length: REQUESTS }, () => ask(url, key))),
    )
    const [, second] = machines.gateways
    const reader = new ManagementClient(second?.url ?? '', admin.token)
    const bodiesOf = async (logId: string): Promise<{ answer: { text: string } } | null> => {
      const { json } = await reader.expect('getEnterpriseLog', 200, {
        params: { id, logId },
        query: { bodies: 'true' },
      })
      return json['bodies'] as { answer: { text: string } } | null
    }
    for (const { id: logId, text } of asked) {
      await eventually(
        async () => {
          expect((await bodiesOf(logId))?.answer.text).toBe(text)
        },
        { timeoutMs: 40_000 },
      )
    }
    await reader.expect('eraseAllEnterpriseBodies', 204, { params: { id } })
    for (const { id: logId } of asked) expect(await bodiesOf(logId)).toBeNull()
  })
})
