import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { ManagementClient } from '../../support/management-client.ts'
import { startTwoMachines } from '../../support/two-machines.ts'
import type { TwoMachines } from '../../support/two-machines.ts'

const PASSWORD = 'correct horse battery'

describe.runIf(inject('database') === 'postgres')('two machines with several fronts and a Redis', () => {
  let machines: TwoMachines
  let admin: ManagementClient

  beforeAll(async () => {
    machines = await startTwoMachines()
    admin = machines.admin
  }, 180_000)

  afterAll(() => machines.stop())

  /** Asks every machine over new connections, so that every front is asked. */
  async function codes(key: string): Promise<ReadonlySet<string>> {
    const answers = machines.gateways.flatMap(({ url }) =>
      Array.from({ length: 8 }, async () => {
        const response = await fetch(`${url}/v1/chat/completions`, {
          method: 'POST',
          headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', connection: 'close' },
          body: JSON.stringify({ model: 'm', max_tokens: 5, messages: [{ role: 'user', content: 'hi' }] }),
        })
        const { error } = (await response.json()) as { error?: { code: string } }
        return error?.code ?? String(response.status)
      }),
    )
    return new Set(await Promise.all(answers))
  }

  it('refuse the keys of a deleted enterprise and of a deleted user everywhere', { timeout: 120_000 }, async () => {
    const body = { phone: '+12025558801', name: 'Ada', password: PASSWORD }
    const userId = String((await admin.expect('adminCreateUser', 201, { body })).json['id'])
    const [first] = machines.gateways
    const user = new ManagementClient(first?.url ?? '')
    await user.login(body.phone, PASSWORD)
    const own = String((await user.expect('createKey', 201, { body: { name: 'own' } })).json['key'])
    const made = await admin.expect('adminCreateEnterprise', 201, { body: { name: 'Acme', rpm: 100_000 } })
    const params = { id: String(made.json['id']) }
    const shared = String((await admin.expect('createEnterpriseKey', 201, { params, body: { name: 'k' } })).json['key'])
    for (const key of [own, shared]) expect(await codes(key)).toEqual(new Set(['200']))

    await admin.expect('adminDeleteUser', 204, { params: { id: userId } })
    await admin.expect('adminDeleteEnterprise', 204, { params })
    for (const key of [own, shared]) {
      await eventually(async () => {
        expect(await codes(key)).toEqual(new Set(['KEY_UNKNOWN']))
      })
    }
    for (const { url } of machines.gateways) {
      const elsewhere = new ManagementClient(url, user.token)
      expect((await elsewhere.call('me')).status).toBe(401)
    }
  })
})
