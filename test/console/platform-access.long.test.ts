import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Browser } from 'playwright-core'
import { startGateway } from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'
import { expectAccessible } from './accessible.ts'
import { CHROMIUM, NO_CHROMIUM, openBrowser, openPage } from './browser.ts'
import { ask, clientOf, firstAdmin, logIn, settled } from './world.ts'

const TITLE =
  CHROMIUM === null ? `the pages of the platform, for all (${NO_CHROMIUM})` : 'the pages of the platform, for all'

describe.skipIf(CHROMIUM === null)(TITLE, () => {
  let gateway: TestGateway
  let browser: Browser
  let paths: ReadonlyArray<readonly [path: string, seen: string]>

  beforeAll(async () => {
    gateway = await startGateway({ config: { management: { private_upstreams: ['127.0.0.0/8'] } } })
    browser = await openBrowser()
    const admin = await clientOf(gateway, firstAdmin(gateway))
    const { id } = await admin.call('adminCreateEnterprise', { body: { name: 'Engines' } })
    const { key } = await admin.call('createEnterpriseKey', { params: { id }, body: { name: 'CI' } })
    await admin.call('adminCreateUpstream', {
      body: { id: 'own', dialect: 'openai-chat', base_url: 'https://models.example/v1', models: ['own-model'] },
    })
    await admin.call('adminCreateToolServer', {
      body: {
        id: 'pages',
        url: 'http://127.0.0.1:9/mcp',
        enabled: false,
        access: [{ enterprise_id: id, role: 'owner' }],
      },
    })
    await settled(admin, [await ask(gateway, key)])
    const { id: userId } = await admin.call('me')
    paths = [
      ['overview', 'Newest requests'],
      ['upstreams', 'No key'],
      ['upstreams/own', 'Add key'],
      ['upstreams/new', 'First key'],
      ['models', 'sim-gpt'],
      ['models/own-model', 'Add a tier'],
      ['models/new', 'Cache write'],
      ['models?tab=groups', 'No groups yet'],
      ['users', 'Administrator'],
      [`users/${userId}`, userId],
      ['users/new', 'Password'],
      ['enterprises', 'Engines'],
      [`enterprises/${id}`, 'Credit or correct'],
      ['enterprises/new', 'Owner'],
      ['relay', 'The gateway itself'],
      ['relay?tab=journal', 'No dead letters'],
      ['audit', 'Added an upstream'],
      ['audit?of=all', 'Created a key'],
      ['system', 'Node.js'],
      ['system?tab=settings', 'log.retention_days'],
      ['tools/pages', 'Rule 1'],
      ['tools', 'pages'],
      ['tools/new', 'Authorization'],
    ]
  })

  afterAll(async () => {
    await browser.close()
    await gateway.stop()
  })

  describe.each(['light', 'dark'] as const)('in the %s theme', (colorScheme) => {
    it('have no serious defect for people who cannot see or point', { timeout: 180_000 }, async () => {
      const { page, context, wrong } = await openPage(browser, gateway.url, { colorScheme })
      await page.goto('/console/platform')
      await logIn(page, firstAdmin(gateway))
      await page.getByRole('heading', { name: 'Overview' }).waitFor()
      for (const [path, seen] of paths) {
        await page.goto(`/console/platform/${path}`)
        await page.getByText(seen).filter({ visible: true }).first().waitFor()
        await expectAccessible(page, path)
      }
      expect(wrong).toEqual([])
      await context.close()
    })

    it('do not scroll sideways on a phone', { timeout: 120_000 }, async () => {
      const { page, context, wrong } = await openPage(browser, gateway.url, {
        colorScheme,
        viewport: { width: 360, height: 780 },
      })
      await page.goto('/console/platform')
      await logIn(page, firstAdmin(gateway))
      await page.getByRole('heading', { name: 'Overview' }).waitFor()
      for (const [path, seen] of paths) {
        await page.goto(`/console/platform/${path}`)
        await page.getByText(seen).filter({ visible: true }).first().waitFor()
        const widths = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth])
        expect(widths[0], path).toBeLessThanOrEqual(widths[1] ?? 0)
      }
      expect(wrong).toEqual([])
      await context.close()
    })
  })
})
