import type { SluiceClient } from '../../src/client/index.ts'
import type { TestGateway } from '../support/gateway.ts'
import type { UpstreamToolServer } from '../support/upstream-tool-server.ts'
import { fillEnterprisePages } from './enterprise-shots.ts'
import type { FilledEnterprise } from './enterprise-shots.ts'
import { fillPlatform } from './platform-shots.ts'
import { fillTools } from './tool-shots.ts'
import { ask, captured, clientOf, firstAdmin, newPerson, settled } from './world.ts'
import type { Person } from './world.ts'

/** The ids that the pictures need of a gateway that is used. */
export interface Filled {
  readonly enterpriseId: string
  /** Of an enterprise that nobody has used. */
  readonly newEnterpriseId: string
  readonly keyId: string
  readonly requestId: string
  readonly failedId: string
  readonly capturedId: string
  readonly empty: Person
  readonly pages: FilledEnterprise
}

const NAMES = [
  'Support chatbot',
  'CI',
  'Nightly summaries',
  'Search indexer',
  'Data science',
  'Prototype',
  'Translations',
]
const MODELS = ['sim-gpt', 'sim-claude', 'sim-gpt-mini']
const AGENTS = ['OpenAI/Python 2.8.1', 'codex_cli_rs/0.169.0', 'claude-cli/2.1.331 (external, cli)', 'curl/8.14.1']
const REQUESTS = 140

/** Keys, requests, money, people and an upstream: a gateway that is used. */
export async function fill(gateway: TestGateway, tools: UpstreamToolServer): Promise<Filled> {
  const admin = await clientOf(gateway, firstAdmin(gateway))
  const empty = await newPerson(gateway, 'Grace Hopper', '+12025550177')
  const { id } = await admin.call('adminCreateEnterprise', {
    body: { name: 'Analytical Engines', time_zone: 'Asia/Shanghai', owner_phone: firstAdmin(gateway).phone },
  })
  const params = { id }
  const newEnterpriseId = await fillWallets(admin, id, firstAdmin(gateway).phone)
  for (const [at, model] of MODELS.entries()) {
    const body = {
      prices: { input: 2_500_000 + at * 500_000, output: 12_000_000 + at * 3_000_000, cached_input: 250_000 },
    }
    await admin.call('adminUpdateModel', { params: { id: model }, body })
  }
  const departments = ['Research', 'Customer care'].map((name) =>
    admin.call('createDepartment', { params, body: { name, monthly_budget: 900_000_000 } }),
  )
  const [research, care] = await Promise.all(departments)
  const secrets: string[] = []
  let keyId = ''
  for (const [at, name] of NAMES.entries()) {
    const made = await admin.call('createEnterpriseKey', {
      params,
      body: {
        name,
        monthly_budget: [14_000, 3_000_000, null][at % 3] ?? null,
        department_id: (at % 2 === 0 ? research?.id : care?.id) ?? null,
        ...(at === 1 ? { rpm: 600, models: ['sim-gpt'], ip_allow: ['127.0.0.0/8'] } : {}),
      },
    })
    secrets.push(made.key)
    if (at === 0) keyId = made.id
    if (at === 5) await admin.call('toggleEnterpriseKey', { params: { id, keyId: made.id }, body: { enabled: false } })
    if (at === 6) await admin.call('rotateEnterpriseKey', { params: { id, keyId: made.id }, body: {} })
    await admin.call('createKey', { body: { name: `${name} (mine)` } })
  }
  const ids: string[] = []
  for (let at = 0; at < REQUESTS; at++) {
    ids.push(
      await ask(gateway, secrets[at % 5] ?? '', {
        model: at % 17 === 3 ? 'no-such-model' : (MODELS[at % 3] ?? 'sim-gpt'),
        text: `Question ${at}: ${'why '.repeat(at % 40)}`,
        stream: at % 2 === 0,
        ...(at % 4 === 0 ? { tag: 'red' } : {}),
        userAgent: AGENTS[at % AGENTS.length] ?? '',
      }),
    )
  }
  await fillPlatform(admin, id)
  await fillTools(admin, tools)
  await settled(admin, ids)
  const keeping = await admin.call('createEnterpriseKey', {
    params,
    body: { name: 'Debugging', monthly_budget: null, capture: { requests: true, answers: true } },
  })
  const capturedId = await ask(gateway, keeping.key, { text: 'Which body is kept?', stream: true })
  await captured(admin, id, capturedId)
  return {
    enterpriseId: id,
    newEnterpriseId,
    keyId,
    requestId: ids.at(-2) ?? '',
    failedId: ids.filter((_, at) => at % 17 === 3).at(-1) ?? '',
    capturedId,
    empty,
    pages: await fillEnterprisePages(gateway, id),
  }
}

/** A wallet with payments, and one without. */
async function fillWallets(admin: SluiceClient, id: string, ownerPhone: string): Promise<string> {
  const params = { id }
  await admin.call('topUpWallet', { params, body: { amount: 250_000_000, currency: 'USD', reference: 'INV-2026-114' } })
  const refund = { kind: 'refund', amount: -20_000_000, reference: 'Paid twice' } as const
  await admin.call('adminAdjustWallet', { params, body: refund })
  const body = { name: 'Difference Engines', is_prepaid: true, owner_phone: ownerPhone }
  return (await admin.call('adminCreateEnterprise', { body })).id
}
