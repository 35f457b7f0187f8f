import { mkdirSync, rmSync } from 'node:fs'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Browser, Page } from 'playwright-core'
import { startGateway } from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'
import { UpstreamToolServer } from '../support/upstream-tool-server.ts'
import { accountShots } from './account-shots.ts'
import { openBrowser, openPage, settledPage } from './browser.ts'
import { ENTERPRISE_IN_CHINESE, enterpriseShots } from './enterprise-shots.ts'
import { figureShots } from './figure-shots.ts'
import { fill } from './filled.ts'
import type { Filled } from './filled.ts'
import { keyShots } from './key-shots.ts'
import { platformShots, shootEmptyPlatform } from './platform-shots.ts'
import { shootReadme } from './readme-shots.ts'
import type { Shot } from './shot.ts'
import { TOOL_SHOTS } from './tool-shots.ts'
import { firstAdmin, logIn } from './world.ts'

/** Pictures of every page for people to look at: both themes, desktop and phone, full and empty; some in Chinese. */
const FOLDER = 'test-results/console'
const SIZES = {
  desktop: { width: 1280, height: 800 },
  phone: { width: 390, height: 844 },
} as const
const THEMES = ['light', 'dark'] as const

let gateway: TestGateway
let tools: UpstreamToolServer
let browser: Browser
let filled: Filled

beforeAll(async () => {
  rmSync(FOLDER, { recursive: true, force: true })
  mkdirSync(FOLDER, { recursive: true })
  tools = await UpstreamToolServer.start()
  // The tool server of the pictures is here.
  gateway = await startGateway({ config: { management: { private_upstreams: ['127.0.0.0/8'] } } })
  browser = await openBrowser()
  await shootEmptyPlatform(browser, gateway, FOLDER)
  filled = await fill(gateway, tools)
}, 240_000)

afterAll(async () => {
  await browser.close()
  await gateway.stop()
  await tools.stop()
})

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
  'audit-platform',
  'upstream',
  'models',
  'enterprise',
  'system',
  'tools',
  'tool-server',
  ...ENTERPRISE_IN_CHINESE,
])

/** Names with commas between them; default: all pictures. */
const WANTED = process.env['SLUICE_TEST_SHOTS']?.split(',')
const SHOTS: readonly Shot[] = [
  ...figureShots(
    () => gateway,
    () => filled,
  ),
  ...accountShots(() => gateway),
  ...enterpriseShots(() => filled.pages),
  ...keyShots(() => filled),
  ...platformShots(() => filled.enterpriseId),
  ...TOOL_SHOTS,
].filter(({ name }) => WANTED?.includes(name) ?? true)

it('the pictures of the README', { timeout: 120_000 }, async () => {
  await shootReadme(browser, gateway, filled)
})

for (const size of Object.keys(SIZES) as Array<keyof typeof SIZES>) {
  for (const theme of THEMES) {
    it(`${size}, ${theme}`, { timeout: 900_000 }, async () => {
      const options = { viewport: SIZES[size], colorScheme: theme, hasTouch: size === 'phone' } as const
      const people = { admin: firstAdmin(gateway), empty: filled.empty }
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
