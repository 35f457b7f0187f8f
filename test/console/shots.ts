import { mkdirSync, rmSync } from 'node:fs'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Browser, Page } from 'playwright-core'
import type { SluiceClient } from '../../src/client/index.ts'
import { startGateway } from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'
import { openBrowser, openPage, settledPage } from './browser.ts'
import { ENTERPRISE_IN_CHINESE, enterpriseShots, fillEnterprisePages } from './enterprise-shots.ts'
import type { FilledEnterprise } from './enterprise-shots.ts'
import { fillPlatform, platformShots, shootEmptyPlatform } from './platform-shots.ts'
import { ask, captured, clientOf, firstAdmin, logIn, newPerson, settled } from './world.ts'
import type { Person } from './world.ts'

/** Pictures of every page for people to look at: both themes, desktop and phone, full and empty; some in Chinese. */
const FOLDER = 'test-results/console'
const SIZES = {
  desktop: { width: 1280, height: 800 },
  phone: { width: 390, height: 844 },
} as const
const THEMES = ['light', 'dark'] as const

let gateway: TestGateway
let browser: Browser
let enterpriseId: string
/** Of an enterprise that nobody has used. */
let newEnterpriseId: string
let requestId: string
let failedId: string
let capturedId: string
let keyId: string
let empty: Person
let filled: FilledEnterprise

beforeAll(async () => {
  rmSync(FOLDER, { recursive: true, force: true })
  mkdirSync(FOLDER, { recursive: true })
  gateway = await startGateway()
  browser = await openBrowser()
  await shootEmptyPlatform(browser, gateway, FOLDER)
  await fill()
}, 120_000)

afterAll(async () => {
  await browser.close()
  await gateway.stop()
})

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

async function fill(): Promise<void> {
  const admin = await clientOf(gateway, firstAdmin(gateway))
  empty = await newPerson(gateway, 'Grace Hopper', '+12025550177')
  const { id } = await admin.call('adminCreateEnterprise', {
    body: { name: 'Analytical Engines', time_zone: 'Asia/Shanghai', owner_phone: firstAdmin(gateway).phone },
  })
  enterpriseId = id
  const params = { id }
  newEnterpriseId = await fillWallets(admin, id)
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
  await settled(admin, ids)
  requestId = ids.at(-2) ?? ''
  const keeping = await admin.call('createEnterpriseKey', {
    params,
    body: { name: 'Debugging', monthly_budget: null, capture: { requests: true, answers: true } },
  })
  capturedId = await ask(gateway, keeping.key, { text: 'Which body is kept?', stream: true })
  await captured(admin, id, capturedId)
  filled = await fillEnterprisePages(gateway, enterpriseId)
  failedId = ids.filter((_, at) => at % 17 === 3).at(-1) ?? ''
}

/** A wallet with payments, and one without. */
async function fillWallets(admin: SluiceClient, id: string): Promise<string> {
  const params = { id }
  await admin.call('topUpWallet', { params, body: { amount: 250_000_000, currency: 'USD', reference: 'INV-2026-114' } })
  const refund = { kind: 'refund', amount: -20_000_000, reference: 'Paid twice' } as const
  await admin.call('adminAdjustWallet', { params, body: refund })
  const body = { name: 'Difference Engines', is_prepaid: true, owner_phone: firstAdmin(gateway).phone }
  return (await admin.call('adminCreateEnterprise', { body })).id
}

interface Shot {
  readonly name: string
  readonly path: () => string
  /** A visitor is not logged in. */
  readonly who?: 'empty' | 'visitor'
  /** For pages with a live stream, which are never idle: what is waited for. */
  readonly ready?: (page: Page) => Promise<void>
  /** Opens what has no address. */
  readonly act?: (page: Page) => Promise<void>
  readonly onDesktopOnly?: true
}

const charts = async (page: Page): Promise<void> => {
  await page.locator('.uplot').first().waitFor()
  await page.getByTestId('latest').getByRole('link').first().waitFor()
}

/** Figures, money, and ways to try models. */
const FIGURES: readonly Shot[] = [
  { name: 'overview', path: () => `/console/e/${enterpriseId}/overview`, ready: charts },
  { name: 'overview-platform', path: () => '/console/platform/overview?range=7d', ready: charts },
  {
    name: 'overview-empty',
    path: () => '/console/overview',
    who: 'empty',
    ready: async (page) => {
      await page.getByRole('heading', { name: 'First steps' }).waitFor()
      await page.getByRole('button', { name: 'Skip' }).click()
      await page.getByText('No requests in 24 hours').waitFor()
    },
  },
  {
    name: 'first-steps',
    path: () => '/console/first-steps',
    who: 'empty',
    ready: (page) => page.getByRole('heading', { name: 'See it arrive' }).waitFor(),
  },
  {
    name: 'first-steps-refused',
    path: () => `/console/first-steps`,
    ready: async (page) => {
      await page.getByRole('button', { name: 'Create key' }).click()
      const key = (await page.getByTestId('new-key').textContent()) ?? ''
      await ask(gateway, key, { model: 'no-such-model' })
      await page.getByText('MODEL_NOT_FOUND').waitFor()
    },
  },
  { name: 'statistics', path: () => `/console/e/${enterpriseId}/statistics?sub=key&range=24h` },
  { name: 'statistics-platform', path: () => '/console/platform/statistics?metric=total&group=model' },
  { name: 'statistics-empty', path: () => '/console/statistics', who: 'empty' },
  { name: 'wallet', path: () => `/console/e/${enterpriseId}/wallet` },
  {
    name: 'wallet-topup',
    path: () => `/console/e/${enterpriseId}/wallet`,
    act: (page) => page.getByRole('button', { name: 'Top up' }).click(),
  },
  { name: 'wallet-empty', path: () => `/console/e/${newEnterpriseId}/wallet` },
  { name: 'playground-empty', path: () => `/console/e/${enterpriseId}/playground` },
  {
    name: 'playground',
    path: () => `/console/e/${enterpriseId}/playground?model=sim-gpt&with=sim-claude`,
    act: async (page) => {
      await page.getByRole('button', { name: 'Make a key for this page' }).click()
      await page.getByTestId('playground-key').waitFor()
      await page.getByRole('textbox', { name: 'Your message' }).fill('Why is the sky blue?')
      await page.keyboard.press('Control+Enter')
      for (const model of ['sim-gpt', 'sim-claude']) {
        await page.getByRole('region', { name: model }).getByText('Cost').waitFor()
      }
      await page.getByRole('link', { name: 'Request', exact: true }).nth(1).waitFor()
    },
  },
]

const IN_CHINESE: ReadonlySet<string> = new Set([
  'account',
  'keys',
  'key',
  'requests',
  'request',
  'overview',
  'statistics',
  'wallet',
  'playground-empty',
  'dashboard',
  'upstream',
  'models',
  'enterprise',
  'system',
  ...ENTERPRISE_IN_CHINESE,
])

const SHOTS: readonly Shot[] = [
  ...FIGURES,
  { name: 'forgot-password', path: () => '/console/forgot-password', who: 'visitor' },
  { name: 'reset-password', path: () => '/console/reset-password#token=t', who: 'visitor' },
  { name: 'register', path: () => '/console/register#token=t', who: 'visitor' },
  { name: 'login-invited', path: () => '/console/invitation#token=t', who: 'visitor' },
  { name: 'account', path: () => '/console/account' },
  {
    name: 'account-totp',
    path: () => '/console/account',
    act: async (page) => {
      await page.getByRole('button', { name: 'Set up' }).click()
      await page.getByRole('dialog').getByLabel('Password', { exact: true }).fill(firstAdmin(gateway).password)
      await page.getByRole('button', { name: 'Continue' }).click()
      await page.getByTestId('totp-secret').waitFor()
    },
  },
  { name: 'invitation', path: () => '/console/invitation' },
  { name: 'verify-email', path: () => '/console/verify-email#token=t' },
  {
    name: 'key-new-unfolded',
    path: () => `/console/e/${enterpriseId}/keys/new`,
    act: async (page) => {
      const dialog = page.getByRole('dialog')
      await dialog.getByRole('button', { name: 'Limits and access' }).click()
      await dialog.getByRole('button', { name: 'Add a budget' }).click()
      await dialog.getByRole('combobox', { name: 'Bodies of requests and answers' }).click()
      await page.getByRole('option', { name: 'Kept', exact: true }).click()
      await dialog.getByLabel('Patterns to redact').scrollIntoViewIfNeeded()
    },
  },
  {
    name: 'request-bodies',
    path: () => `/console/e/${enterpriseId}/requests/${capturedId}`,
    act: async (page) => {
      await page.getByRole('button', { name: 'Show the bodies' }).click()
      await page.getByRole('button', { name: 'Download: Answer' }).scrollIntoViewIfNeeded()
    },
  },
  ...enterpriseShots(() => filled),
  { name: 'join', path: () => '/console/join', who: 'empty' },
  { name: 'keys', path: () => `/console/e/${enterpriseId}/keys` },
  { name: 'keys-own', path: () => '/console/keys' },
  { name: 'keys-empty', path: () => '/console/keys', who: 'empty' },
  { name: 'keys-no-match', path: () => '/console/keys?search=nothing' },
  { name: 'key', path: () => `/console/e/${enterpriseId}/keys/${keyId}` },
  { name: 'key-new', path: () => `/console/e/${enterpriseId}/keys/new` },
  {
    name: 'key-shown-once',
    path: () => `/console/e/${enterpriseId}/keys/new`,
    act: async (page) => {
      await page.getByLabel('Name', { exact: true }).fill('A new one')
      await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click()
      await page.getByTestId('new-key').waitFor()
    },
  },
  {
    name: 'key-delete',
    path: () => `/console/e/${enterpriseId}/keys/${keyId}`,
    act: async (page) => {
      await page.getByRole('button', { name: 'Delete', exact: true }).click()
      await page.getByText('in the last 7 days').waitFor()
    },
  },
  { name: 'requests', path: () => `/console/e/${enterpriseId}/requests` },
  { name: 'requests-platform', path: () => '/console/platform/requests' },
  { name: 'requests-filtered', path: () => `/console/e/${enterpriseId}/requests?status=404&tag=team%3Ared&range=7d` },
  { name: 'requests-empty', path: () => '/console/requests', who: 'empty' },
  { name: 'request', path: () => `/console/platform/requests/${requestId}` },
  { name: 'request-failed', path: () => `/console/e/${enterpriseId}/requests/${failedId}` },
  { name: 'request-unknown', path: () => '/console/requests/req_doesnotexist', onDesktopOnly: true },
  { name: 'not-found', path: () => '/console/nothing/here', onDesktopOnly: true },
  {
    name: 'palette',
    path: () => `/console/e/${enterpriseId}/keys`,
    act: async (page) => {
      await page.keyboard.press('Control+k')
      await page.getByRole('listbox').waitFor()
    },
  },
  {
    name: 'help',
    path: () => `/console/e/${enterpriseId}/requests`,
    onDesktopOnly: true,
    act: async (page) => {
      await page.keyboard.press('?')
      await page.getByRole('dialog').waitFor()
    },
  },
  ...platformShots(() => enterpriseId),
]

for (const size of Object.keys(SIZES) as Array<keyof typeof SIZES>) {
  for (const theme of THEMES) {
    it(`${size}, ${theme}`, { timeout: 300_000 }, async () => {
      const options = { viewport: SIZES[size], colorScheme: theme, hasTouch: size === 'phone' } as const
      const people = { admin: firstAdmin(gateway), empty }
      const wrong: string[] = []
      const shoot = async (page: Page, name: string): Promise<void> => {
        // Transitions and the pictures of fonts.
        await page.waitForTimeout(350)
        await page.screenshot({ path: `${FOLDER}/${name}-${size}-${theme}.png` })
      }
      for (const who of ['admin', 'empty'] as const) {
        const opened = await openPage(browser, gateway.url, options)
        const { page, context } = opened
        await page.goto('/console/keys')
        await page.getByLabel('Phone number').waitFor()
        if (who === 'admin') {
          await shoot(page, 'login')
          for (const shot of SHOTS.filter((one) => one.who === 'visitor')) {
            await page.goto(shot.path())
            await settledPage(page)
            await shoot(page, shot.name)
          }
          await page.goto('/console/keys')
        }
        await logIn(page, people[who])
        await page.getByRole('heading', { level: 1 }).and(page.getByText('API keys')).waitFor()
        for (const shot of SHOTS) {
          if ((shot.who ?? 'admin') !== who || (shot.onDesktopOnly === true && size === 'phone')) continue
          await page.goto(shot.path())
          await (shot.ready?.(page) ?? settledPage(page))
          await shot.act?.(page)
          await shoot(page, shot.name)
        }
        if (who === 'admin' && theme === 'light') {
          await page.evaluate(() => {
            localStorage.setItem('sluice.language', 'zh')
          })
          for (const { name, path, ready } of SHOTS.filter(({ name }) => IN_CHINESE.has(name))) {
            await page.goto(path())
            await (ready?.(page) ?? settledPage(page))
            await shoot(page, `${name}-zh`)
          }
        }
        wrong.push(...opened.wrong)
        await context.close()
      }
      expect(wrong).toEqual([])
    })
  }
}
