import { Agent, request } from 'undici'
import { generateApiKey } from '../../src/core/api-key.ts'
import { moveWallet } from '../../src/ledger/wallet.ts'
import type { Database } from '../../src/store/database.ts'

/** Requests that come at the same time. */
export const RUSH = 1_000
/** How many of them a wallet pays for. */
export const AFFORDABLE = 100
/** Of each answer: one micro-unit each. */
const TOKENS = 20
const REFUSAL =
  '429 quota_exhausted BUDGET_EXHAUSTED ' +
  `What is left in the wallet of this enterprise does not cover this request, which may cost ${TOKENS} micro-units.`

/** A prepaid enterprise and its one entry key. */
export interface Prepaid {
  readonly id: string
  readonly key: string
}

/** Sections of the configuration file under which a request costs what `fillWallets` counts with. */
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

/** Puts what `AFFORDABLE` requests cost into the wallet of each. */
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

/** Sends `RUSH` requests at once, to each gateway in turn; what became of them, but for those that the wallet refused. */
export async function rush(
  urls: readonly string[],
  { key }: Prepaid,
): Promise<{ admitted: number; refused: number; others: readonly string[] }> {
  const dispatcher = new Agent({ connections: RUSH, pipelining: 1 })
  const body = JSON.stringify({
    model: 'm',
    max_tokens: TOKENS,
    messages: [{ role: 'user', content: `hello [[sim {"tokens":${TOKENS},"ttftMs":200}]]` }],
  })
  const answers = await Promise.all(
    Array.from({ length: RUSH }, async (_, index) => {
      const answer = await request(`${urls[index % urls.length] ?? ''}/v1/chat/completions`, {
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
  await dispatcher.close()
  return {
    admitted: answers.filter((answer) => answer === 'admitted').length,
    refused: answers.filter((answer) => answer === REFUSAL).length,
    others: answers.filter((answer) => answer !== 'admitted' && answer !== REFUSAL),
  }
}
