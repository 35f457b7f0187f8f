import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SluiceClient } from '../../src/client/index.ts'
import { startGateway } from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'
import { CHROMIUM, NO_CHROMIUM, openBrowser, openPage, settledPage } from './browser.ts'
import { fillEnterprisePages } from './enterprise-shots.ts'
import { ask, clientOf, firstAdmin, settled } from './world.ts'

const TITLE = CHROMIUM === null ? `pages are as wide as the window (${NO_CHROMIUM})` : 'pages are as wide as the window'
const WIDTHS = [360, 768, 1280] as const
/** Names as long as people make them. */
const LONG = 'Department for the Preservation of Extraordinarily Long-Winded Correspondence'

describe.skipIf(CHROMIUM === null)(TITLE, () => {
  let gateway: TestGateway
  let browser: Browser
  let paths: readonly string[]

  beforeAll(async () => {
    gateway = await startGateway()
    browser = await openBrowser()
    const admin = await clientOf(gateway, firstAdmin(gateway))
    const { id } = await admin.call('adminCreateEnterprise', {
      body: { name: `${LONG} Ltd`, time_zone: 'America/St_Johns', owner_phone: firstAdmin(gateway).phone },
    })
    const params = { id }
    await admin.call('createDepartment', { params, body: { name: 'Research' } })
    const long = await admin.call('createDepartment', { params, body: { name: LONG } })
    const filled = await fillEnterprisePages(gateway, id)
    const made = await admin.call('createEnterpriseKey', {
      params,
      body: { name: LONG.repeat(2).slice(0, 100), department_id: long.id, monthly_budget: 1_000_000_000_000 },
    })
    await admin.call('topUpWallet', { params, body: { amount: 9e12, currency: 'USD', reference: LONG } })
    const own = await admin.call('createKey', { body: { name: LONG } })
    const requests = [
      await ask(gateway, made.key),
      await ask(gateway, own.key),
      await ask(gateway, made.key, { model: `no-${'such-'.repeat(20)}model`, tag: 'a-tag-'.repeat(9) }),
    ]
    await settled(admin, requests)
    const [requestId = '', ownRequestId = '', failedId = ''] = requests
    paths = [
      ...[
        'overview',
        'keys',
        'keys/new',
        `keys/${own.id}`,
        'requests',
        `requests/${ownRequestId}`,
        'statistics',
        'playground?model=sim-gpt&with=sim-claude',
        'first-steps',
        'join',
        'account',
        'nothing/here',
      ].map((path) => `/console/${path}`),
      ...[
        'overview',
        'keys',
        'keys/new',
        `keys/${made.id}`,
        'requests',
        'requests?status=404&range=7d',
        'requests?search=nothing&q=nothing',
        `requests/${requestId}`,
        `requests/${failedId}`,
        'statistics?sub=key&range=24h',
        'wallet',
        'playground',
        'members',
        'members/new',
        `members/${filled.memberId}`,
        'departments',
        'departments/new',
        `departments/${filled.departmentId}`,
        `departments/${long.id}`,
        'joins',
        'alerts',
        'alerts/new',
        `alerts/${filled.alertId}`,
        'alerts?tab=deliveries',
        'alerts?tab=summary',
        'audit',
        'settings',
      ].map((path) => `/console/e/${id}/${path}`),
      ...['members', 'departments', 'joins', 'alerts', 'wallet', 'statistics'].map(
        (path) => `/console/e/${filled.emptyId}/${path}`,
      ),
      ...['overview', 'requests', `requests/${failedId}`, 'statistics'].map((path) => `/console/platform/${path}`),
    ]
  }, 180_000)

  afterAll(async () => {
    await browser.close()
    await gateway.stop()
  })

  const VISITORS = ['login', 'forgot-password', 'reset-password#token=t', 'register#token=t', 'invitation#token=t']

  describe.each(['en', 'zh'] as const)('in the language %s', (language) => {
    it('of visitors and of everybody', { timeout: 400_000 }, async () => {
      const { page, context, wrong } = await openPage(browser, gateway.url)
      const tooWide: string[] = []
      const measure = async (path: string): Promise<void> => {
        await page.goto(path)
        await page.locator('main').locator('h1, p').first().waitFor()
        await settledPage(page)
        for (const width of WIDTHS) {
          await page.setViewportSize({ width, height: 780 })
          const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
          if (over > 0) tooWide.push(`${path} at ${width}: ${over} px`)
        }
      }
      await page.addInitScript((chosen) => {
        localStorage.setItem('sluice.language', chosen)
      }, language)
      for (const path of VISITORS) await measure(`/console/${path}`)
      const { token } = await new SluiceClient({ baseUrl: gateway.url }).login(firstAdmin(gateway))
      await page.evaluate((kept) => {
        localStorage.setItem('sluice.token', kept)
      }, token)
      for (const path of paths) await measure(path)
      expect(await page.evaluate(() => document.documentElement.lang)).toMatch(new RegExp(`^${language}`))
      expect(tooWide).toEqual([])
      expect(wrong).toEqual([])
      await context.close()
    })
  })
})
