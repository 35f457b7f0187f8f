import { Agent, request } from 'undici'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { generateApiKey } from '../../../src/core/api-key.ts'
import { findWallet, moveWallet } from '../../../src/ledger/wallet.ts'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { TenantStore } from '../../support/tenant-store.ts'

const ROUNDS = 20
const REQUESTS = 1_000
const AFFORDABLE = 100
/** One micro-unit for each token of an answer. */
const TOKENS = 20

const enterprises = Array.from({ length: ROUNDS }, (_, round) => ({ id: `acme-${round}`, key: generateApiKey() }))

let store: TenantStore
let simulator: Simulator
let gateway: TestGateway

beforeAll(async () => {
  simulator = await startSimulator()
  store = await TenantStore.make(async (database) => {
    for (const { id } of enterprises) {
      await database.query('INSERT INTO enterprises (id, name, is_prepaid) VALUES ($1, $1, true)', [id])
      await moveWallet(database, {
        id: `top-up-${id}`,
        enterpriseId: id,
        kind: 'topup',
        amountMicro: BigInt(AFFORDABLE * TOKENS),
        reference: null,
        actor: null,
      })
    }
  })
  gateway = await startGateway({
    ...store.options,
    fronts: 2,
    upstreams: [{ dialect: 'openai-chat', baseUrl: `${simulator.origin}/v1`, models: ['m'] }],
    keys: enterprises.map(({ id, key }) => ({ name: id, key, enterprise: id, max_concurrency: 2 * REQUESTS })),
    config: {
      models: [{ id: 'm', prices: { input: 0, output: 1_000_000 } }],
      limits: { max_requests_in_flight: 5_000 },
    },
  })
}, 180_000)

afterAll(async () => {
  await gateway.stop()
  await simulator.close()
  store.remove()
})

it(
  'admits exactly 100 of 1 000 concurrent requests to a wallet for 100, twenty times, and the books agree',
  { timeout: 600_000 },
  async () => {
    const dispatcher = new Agent({ connections: REQUESTS, pipelining: 1 })
    const body = JSON.stringify({
      model: 'm',
      max_tokens: TOKENS,
      messages: [{ role: 'user', content: `hello [[sim {"tokens":${TOKENS},"ttftMs":200}]]` }],
    })
    for (const { key } of enterprises) {
      const answers = await Promise.all(
        Array.from({ length: REQUESTS }, async () => {
          const answer = await request(`${gateway.url}/v1/chat/completions`, {
            dispatcher,
            method: 'POST',
            headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
            body,
          })
          const text = await answer.body.text()
          if (answer.statusCode === 200) return 'admitted'
          const { error } = JSON.parse(text) as { error: { type: string; code: string; message: string } }
          return `${answer.statusCode} ${error.type} ${error.code} ${error.message}`
        }),
      )
      const refusal =
        '429 quota_exhausted BUDGET_EXHAUSTED ' +
        `What is left in the wallet of this enterprise does not cover this request, which may cost ${TOKENS} micro-units.`
      expect(answers.filter((answer) => answer !== 'admitted' && answer !== refusal)).toEqual([])
      expect(answers.filter((answer) => answer === 'admitted')).toHaveLength(AFFORDABLE)
    }
    await dispatcher.close()

    await eventually(
      async () => {
        expect(await gateway.logRows({ status: '200' })).toHaveLength(ROUNDS * AFFORDABLE)
      },
      { timeoutMs: 60_000 },
    )
    await gateway.end('SIGTERM')
    const balances = await store.use((database) =>
      Promise.all(enterprises.map(async ({ id }) => (await findWallet(database, id))?.balanceMicro)),
    )
    expect(balances).toEqual(enterprises.map(() => 0n))
    const { code, output } = store.reconcile()
    expect(output).toContain('The books agree.')
    expect(code).toBe(0)
  },
)
