import type { Browser } from 'playwright-core'
import type { SluiceClient } from '../../src/client/index.ts'
import type { TestGateway } from '../support/gateway.ts'
import { openPage, settledPage } from './browser.ts'
import type { Shot } from './shot.ts'
import { firstAdmin, logIn } from './world.ts'

/** The data of the platform's pages in the pictures, beside those of the others. */
export async function fillPlatform(admin: SluiceClient, enterpriseId: string): Promise<void> {
  await admin.call('adminCreateUpstream', {
    body: {
      id: 'openai-eu',
      provider: 'openai',
      models: ['gpt-4o', { id: 'fast', upstream_model: 'gpt-4o-mini' }],
      keys: [
        { id: 'openai-eu-1', name: 'team a', credential: 'a-made-up-credential-abcd', max_concurrency: 200 },
        { id: 'openai-eu-2', name: 'team b', credential: 'a-made-up-credential-efgh', enabled: false },
      ],
    },
  })
  await admin.call('adminCreateUpstream', {
    body: { id: 'vllm-lab', dialect: 'openai-chat', base_url: 'https://models.example/v1', models: ['lab-model'] },
  })
  await admin.call('adminCreateToolServer', {
    body: {
      id: 'pages',
      url: 'https://tools.example/mcp',
      enabled: false,
      access: [{ enterprise_id: enterpriseId, role: 'finance' }, { role: 'owner' }],
    },
  })
  await admin.call('adminPutModelGroup', { params: { id: 'frontier' }, body: { models: ['sim-gpt', 'gpt-*'] } })
  await admin.call('topUpWallet', {
    params: { id: enterpriseId },
    body: { amount: 250_000_000, currency: 'USD', reference: 'invoice 2026-11' },
  })
  for (const [name, cap] of [
    ['Looms of Lyon', 20_000_000],
    ['Difference Ltd', null],
  ] as const) {
    await admin.call('adminCreateEnterprise', { body: { name, is_prepaid: true, platform_monthly_budget: cap } })
  }
}

const at = (path: string) => (): string => `/console/platform/${path}`

export function platformShots(enterpriseId: () => string): readonly Shot[] {
  return [
    { name: 'upstreams', path: at('upstreams') },
    { name: 'upstream', path: at('upstreams/openai-eu') },
    { name: 'upstream-new', path: at('upstreams/new') },
    {
      name: 'upstream-test',
      path: at('upstreams/simulator-chat'),
      act: async (page) => {
        await page.getByRole('button', { name: 'Test', exact: true }).click()
        await page.getByRole('button', { name: 'Make the call' }).click()
        await page.getByText('It works').waitFor()
      },
    },
    {
      name: 'upstream-delete',
      path: at('upstreams/openai-eu'),
      act: async (page) => {
        await page.getByRole('button', { name: 'Delete', exact: true }).click()
        await page.getByText('in the last 7 days').waitFor()
      },
    },
    { name: 'models', path: at('models') },
    { name: 'models-unknown', path: at('models?prices=unknown'), onDesktopOnly: true },
    { name: 'models-no-match', path: at('models?search=nothing'), onDesktopOnly: true },
    { name: 'model', path: at('models/sim-gpt') },
    { name: 'model-new', path: at('models/new'), onDesktopOnly: true },
    { name: 'model-groups', path: at('models?tab=groups') },
    { name: 'users', path: at('users') },
    { name: 'user-new', path: at('users/new'), onDesktopOnly: true },
    { name: 'enterprises', path: at('enterprises') },
    { name: 'enterprise', path: () => at(`enterprises/${enterpriseId()}`)() },
    {
      name: 'enterprise-credit',
      path: () => at(`enterprises/${enterpriseId()}`)(),
      act: async (page) => {
        await page.getByRole('button', { name: 'Credit or correct' }).click()
        await page.getByLabel('Amount').waitFor()
      },
    },
    { name: 'relay', path: at('relay') },
    { name: 'journal', path: at('relay?tab=journal') },
    { name: 'audit-platform', path: at('audit') },
    {
      name: 'audit-platform-entry',
      path: at('audit?operation=adminCreateUpstream'),
      act: async (page) => {
        await page.getByRole('table').getByRole('link').first().click()
        await page.getByRole('heading', { level: 2 }).first().waitFor()
      },
    },
    { name: 'audit-platform-all', path: at('audit?of=all'), onDesktopOnly: true },
    { name: 'system', path: at('system') },
    { name: 'settings-platform', path: at('system?tab=settings') },
    { name: 'tool-server', path: at('tools/pages') },
    {
      name: 'tool-server-rules',
      path: at('tools/pages'),
      act: (page) => page.getByText('Rule 2').scrollIntoViewIfNeeded(),
    },
  ]
}

const EMPTY = ['overview', 'models?tab=groups', 'enterprises', 'tools'] as const

/** Pictures of the platform before anything is made: what is empty says what to do. */
export async function shootEmptyPlatform(browser: Browser, gateway: TestGateway, folder: string): Promise<void> {
  const { page, context } = await openPage(browser, gateway.url)
  await page.goto('/console/platform')
  await logIn(page, firstAdmin(gateway))
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  for (const path of EMPTY) {
    await page.goto(at(path)())
    await page.getByRole('heading', { level: 1 }).waitFor()
    await settledPage(page)
    await page.screenshot({ path: `${folder}/${path.replace('?tab=', '-')}-empty-desktop-light.png` })
  }
  await context.close()
}
