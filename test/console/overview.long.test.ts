import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startGateway } from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'
import { expectAccessible } from './accessible.ts'
import { CHROMIUM, NO_CHROMIUM, openBrowser, openPage } from './browser.ts'
import { ask, clientOf, firstAdmin, logIn, newPerson, settled } from './world.ts'
import type { Person } from './world.ts'

const TITLE = CHROMIUM === null ? `the overview (${NO_CHROMIUM})` : 'the overview'
const FAILED = 3
const ANSWERED = 9

describe.skipIf(CHROMIUM === null)(TITLE, () => {
  let gateway: TestGateway
  let browser: Browser
  let enterpriseId: string
  let secret: string

  beforeAll(async () => {
    gateway = await startGateway()
    browser = await openBrowser()
    const admin = await clientOf(gateway, firstAdmin(gateway))
    const { id } = await admin.call('adminCreateEnterprise', {
      body: { name: 'Analytical Engines', time_zone: 'Asia/Shanghai', owner_phone: firstAdmin(gateway).phone },
    })
    enterpriseId = id
    secret = (await admin.call('createEnterpriseKey', { params: { id }, body: { name: 'CI' } })).key
    const ids: string[] = []
    for (let at = 0; at < FAILED + ANSWERED; at++) {
      ids.push(await ask(gateway, secret, { model: at < FAILED ? 'no-such-model' : 'sim-gpt' }))
    }
    await settled(admin, ids)
  })

  afterAll(async () => {
    await browser.close()
    await gateway.stop()
  })

  async function opened(path: string, person: Person, run: (page: Page) => Promise<void>): Promise<void> {
    const { page, context, wrong } = await openPage(browser, gateway.url)
    await page.goto(path)
    await logIn(page, person)
    await run(page)
    expect(wrong).toEqual([])
    await context.close()
  }

  it('shows what an enterprise used, follows new requests, and opens the rows of each figure', async () => {
    await opened(`/console/e/${enterpriseId}`, firstAdmin(gateway), async (page) => {
      const figure = page.getByRole('listitem').filter({ hasText: 'Requests' })
      await figure.getByText(String(FAILED + ANSWERED), { exact: true }).waitFor()
      await page.getByText(`${FAILED} failed`).waitFor()
      await page.getByRole('img', { name: /12 requests over time, 3 of them failed/ }).waitFor()
      await page.getByRole('img', { name: /First byte over time: half within/ }).waitFor()
      await page.getByRole('link', { name: 'CI' }).waitFor()
      await page.getByText('Live', { exact: true }).waitFor()
      const id = await ask(gateway, secret, { text: 'Are you there?' })
      await page.getByTestId('latest').locator(`a[href$="/requests/${id}"]`).waitFor()
      await page.getByText('30 days').click()
      await page.waitForURL(({ search }) => search === '?range=30d')
      await page.getByRole('link', { name: '404' }).click()
      await expect.poll(() => page.locator('[data-id]').count()).toBe(FAILED)
      await page.waitForURL(({ search }) => search === '?status=404&range=30d')
    })
  })

  it('takes somebody new to the first steps: a key, a refusal with its reason, the first answer', async () => {
    const person = await newPerson(gateway, 'Grace Hopper', '+12025550177')
    await opened('/console', person, async (page) => {
      await page.getByRole('heading', { name: 'First steps' }).waitFor()
      await page.getByRole('button', { name: 'Create key' }).click()
      const key = (await page.getByTestId('new-key').textContent()) ?? ''
      expect(key).toMatch(/^sk-\w{40}$/)
      await ask(gateway, key, { model: 'no-such-model' })
      await page.getByText('A request came and was refused:').waitFor()
      await page.getByText('MODEL_NOT_FOUND').waitFor()
      await expectAccessible(page, 'first steps')
      await ask(gateway, key)
      await page.getByText('It works').waitFor()
      await page.getByRole('link', { name: 'Open the request' }).click()
      await page.getByRole('complementary', { name: 'Request' }).getByText('sim-gpt').first().waitFor()
      expect(await page.content()).not.toContain(key)
      expect(await page.evaluate(() => JSON.stringify([localStorage, sessionStorage, location.href]))).not.toContain(
        key,
      )
    })
  })

  it('lets the first steps be skipped, for good', async () => {
    const person = await newPerson(gateway, 'Ada Lovelace', '+12025550178')
    await opened('/console/overview', person, async (page) => {
      await page.getByRole('button', { name: 'Skip' }).click()
      await page.getByText('No requests in 24 hours').waitFor()
      await page.reload()
      await page.getByRole('link', { name: 'First steps' }).waitFor()
    })
  })

  it.each(['light', 'dark'] as const)('has no serious defect in the %s theme', async (colorScheme) => {
    const { page, context, wrong } = await openPage(browser, gateway.url, { colorScheme })
    await page.goto('/console/platform/overview')
    await logIn(page, firstAdmin(gateway))
    await page.getByRole('img', { name: /requests over time/ }).waitFor()
    await page.getByTestId('latest').getByRole('link').first().waitFor()
    await expectAccessible(page, 'overview')
    expect(wrong).toEqual([])
    await context.close()
  })
})
