import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import type { ManagementClient } from '../../support/management-client.ts'
import { startTwoMachines } from '../../support/two-machines.ts'
import type { TwoMachines } from '../../support/two-machines.ts'

const REQUESTS = 200
const RPM = 60
const PLACES = 8
const BUDGETED = 75
/** Micro-units of an answer of five tokens. */
const COST = 5

describe.runIf(inject('database') === 'postgres')('two machines that share a Redis', () => {
  let machines: TwoMachines
  let admin: ManagementClient
  let params: { readonly id: string }

  beforeAll(async () => {
    machines = await startTwoMachines({ models: [{ id: 'm', prices: { input: 0, output: 1_000_000 } }] })
    admin = machines.admin
    params = { id: String((await admin.expect('adminCreateEnterprise', 201, { body: { name: 'Acme' } })).json['id']) }
  }, 180_000)

  afterAll(() => machines.stop())

  /** Sends all requests at once, to both machines, with two keys of departments below the limited one. Counts answers by their code. */
  async function rush(limits: object, behaviour: object): Promise<Record<string, number>> {
    const make = async (body: object): Promise<string> =>
      String((await admin.expect('createDepartment', 201, { params, body: { name: 'D', ...body } })).json['id'])
    const top = await make(limits)
    const keys: string[] = []
    for (let n = 0; n < 2; n++) {
      const body = { name: 'k', department_id: await make({ parent_id: top }) }
      keys.push(String((await admin.expect('createEnterpriseKey', 201, { params, body })).json['key']))
    }
    const codes = await Promise.all(
      Array.from({ length: REQUESTS }, async (_, index) => {
        const response = await fetch(`${machines.gateways[index % 2]?.url ?? ''}/v1/chat/completions`, {
          method: 'POST',
          headers: { authorization: `Bearer ${keys[(index >> 1) % 2] ?? ''}`, 'content-type': 'application/json' },
          body: JSON.stringify({
            model: 'm',
            max_tokens: 5,
            messages: [{ role: 'user', content: `hi [[sim ${JSON.stringify({ tokens: 5, ...behaviour })}]]` }],
          }),
        })
        const { error } = (await response.json()) as { error?: { code: string; message: string } }
        if (error !== undefined) expect(error.message).toContain(`department (${top})`)
        return error?.code ?? String(response.status)
      }),
    )
    return Object.fromEntries([...new Set(codes)].map((code) => [code, codes.filter((one) => one === code).length]))
  }

  it('admit as many requests a minute as a department has, and no more', { timeout: 120_000 }, async () => {
    expect(await rush({ rpm: RPM }, {})).toEqual({ 200: RPM, RPM_EXCEEDED: REQUESTS - RPM })
  })

  it('spend as much as a department has for a model, and no more', { timeout: 120_000 }, async () => {
    const budget = { models: ['m'], monthly_budget: BUDGETED * COST }
    const counts = await rush({ model_budgets: [budget] }, {})
    expect(counts).toEqual({ 200: BUDGETED, BUDGET_EXHAUSTED: REQUESTS - BUDGETED })
  })

  it('run as many requests at once as a department may, and no more', { timeout: 120_000 }, async () => {
    const counts = await rush({ max_concurrency: PLACES }, { ttftMs: 5_000 })
    expect(counts).toEqual({ 200: PLACES, CONCURRENCY_EXCEEDED: REQUESTS - PLACES })
  })
})
