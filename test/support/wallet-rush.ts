import { Agent, request } from 'undici'
import { expect } from 'vitest'
import { generateApiKey } from '../../src/shared/core/api-key.ts'
import { findWallet, moveWallet } from '../../src/control/ledger/wallet.ts'
import type { Database } from '../../src/control/store/database.ts'
import { eventually } from './eventually.ts'
import type { TestGateway } from './gateway.ts'
import type { TenantStore } from './tenant-store.ts'

/** Number of concurrent requests. */
const RUSH = 1_000
/** Number of requests that a wallet pays for. */
const AFFORDABLE = 100
/** Tokens of each answer; each costs one micro-unit. */
const TOKENS = 20
const REFUSAL =
  '429 quota_exhausted BUDGET_EXHAUSTED ' +
  `What is left in the wallet of this enterprise does not cover this request, which may cost ${TOKENS} micro-units.`

/** A prepaid enterprise and its one entry key. */
export interface Prepaid {
  readonly id: string
  readonly key: string
}

/** Sections of the configuration file with the price that `fillWallets` assumes. */
export const RUSH_CONFIG = {
  models: [{ id: 'm', prices: { input: 0, output: 1_000_000 } }],
  limits: { max_requests_in_flight: 5_000 },
}

export function prepaidEnterprises(count: number): readonly Prepaid[] {
  return Array.from({ length: count }, (_, index) => ({ id: `acme-${index}`, key: generateApiKey() }))
}

/** Entries of the configuration file's `keys`. */
export function rushKeys(enterprises: readonly Prepaid[]): ReadonlyArray<Record<string, unknown>> {
  return enterprises.map(({ id, key }) => ({ name: id, key, enterprise: id, max_concurrency: 2 * RUSH }))
}

/** Puts the cost of `AFFORDABLE` requests into the wallet of each enterprise. */
export async function fillWallets(database: Database, enterprises: readonly Prepaid[]): Promise<void> {
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
}

/**
 * Sends a rush of requests for each wallet in turn, over all gateways. Expects that exactly the paid requests are admitted. Then ends
 * the gateways and expects that all wallets are empty and the books agree.
 */
export async function expectExactWallets(
  gateways: readonly TestGateway[],
  store: TenantStore,
  enterprises: readonly Prepaid[],
): Promise<void> {
  const urls = gateways.map(({ url }) => url)
  for (const enterprise of enterprises) {
    const { admitted, refused, others } = await rush(urls, enterprise)
    expect(others).toEqual([])
    expect([admitted, refused]).toEqual([AFFORDABLE, RUSH - AFFORDABLE])
  }
  await eventually(
    async () => {
      expect(await gateways[0]?.logRows({ status: '200' })).toHaveLength(enterprises.length * AFFORDABLE)
    },
    { timeoutMs: 60_000, everyMs: 250 },
  )
  await Promise.all(gateways.map((gateway) => gateway.end('SIGTERM')))
  const balances = await store.use((database) =>
    Promise.all(enterprises.map(async ({ id }) => (await findWallet(database, id))?.balanceMicro)),
  )
  expect(balances).toEqual(enterprises.map(() => 0n))
  const { code, output } = store.reconcile()
  expect(output).toContain('The books agree.')
  expect(code).toBe(0)
}

/** Sends `RUSH` requests at once, to the gateways in turn. Counts admitted and refused ones; `others` has all other answers. */
async function rush(
  urls: readonly string[],
  { key }: Prepaid,
): Promise<{ admitted: number; refused: number; others: readonly string[] }> {
  const dispatcher = new Agent({ connections: RUSH, pipelining: 1 })
  const body = JSON.stringify({
    model: 'm',
    max_tokens: TOKENS,
    messages: [{ role: 'user', content: `hello [[sim {"tokens":${TOKENS},"ttftMs":200}]]` }],
  })
  const ask = async (url: string): Promise<string> => {
    const answer = await request(`${url}/v1/chat/completions`, {
      dispatcher,
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body,
    })
    const text = await answer.body.text()
    if (answer.statusCode === 200) return 'admitted'
    const { error } = JSON.parse(text) as { error: { type: string; code: string; message: string } }
    return `${answer.statusCode} ${error.type} ${error.code} ${error.message}`
  }
  const answers = await Promise.all(Array.from({ length: RUSH }, (_, index) => ask(urls[index % urls.length] ?? '')))
  await dispatcher.close()
  return {
    admitted: answers.filter((answer) => answer === 'admitted').length,
    refused: answers.filter((answer) => answer === REFUSAL).length,
    others: answers.filter((answer) => answer !== 'admitted' && answer !== REFUSAL),
  }
}
