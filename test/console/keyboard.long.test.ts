import type { Browser, Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startGateway } from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'
import { CHROMIUM, NO_CHROMIUM, openBrowser, openPage } from './browser.ts'
import { ask, clientOf, firstAdmin, settled } from './world.ts'

const TITLE = CHROMIUM === null ? `the keyboard alone (${NO_CHROMIUM})` : 'the keyboard alone'
/** Longer ways than this are too long for people, too. */
const MAX_TABS = 60

describe.skipIf(CHROMIUM === null)(TITLE, () => {
  let gateway: TestGateway
  let browser: Browser
  let enterpriseId: string

  beforeAll(async () => {
    gateway = await startGateway()
    browser = await openBrowser()
    const admin = await clientOf(gateway, firstAdmin(gateway))
    const { id } = await admin.call('adminCreateEnterprise', {
      body: { name: 'Engines', owner_phone: firstAdmin(gateway).phone },
    })
    enterpriseId = id
    const { key } = await admin.call('createEnterpriseKey', { params: { id }, body: { name: 'CI' } })
    const ids: string[] = []
    for (let at = 0; at < 6; at++) {
      ids.push(
        await ask(gateway, key, { model: at % 2 === 0 ? 'sim-gpt' : 'sim-claude', tag: at < 2 ? 'red' : 'blue' }),
      )
    }
    await settled(admin, ids)
  })

  afterAll(async () => {
    await browser.close()
    await gateway.stop()
  })

  /** A page that no pointer touches, from the log-in on. */
  async function opened(path: string, run: (page: Page) => Promise<void>): Promise<void> {
    const { page, context, wrong } = await openPage(browser, gateway.url)
    await page.goto(path)
    const { phone, password } = firstAdmin(gateway)
    await reach(page, page.getByLabel('Phone number'))
    await page.keyboard.type(phone)
    await reach(page, page.getByLabel('Password', { exact: true }))
    await page.keyboard.type(password)
    await page.keyboard.press('Enter')
    await run(page)
    expect(wrong).toEqual([])
    await context.close()
  }

  const isFocused = (wanted: Locator): Promise<boolean> => wanted.evaluate((one) => one === document.activeElement)

  /** Presses Tab until the focus is there. */
  async function reach(page: Page, wanted: Locator): Promise<void> {
    await wanted.waitFor()
    for (let pressed = 0; pressed < MAX_TABS; pressed++) {
      if (await isFocused(wanted)) return
      await page.keyboard.press('Tab')
    }
    throw new Error(`${MAX_TABS} tabs do not lead to ${String(wanted)}.`)
  }

  const press = async (page: Page, wanted: Locator): Promise<void> => {
    await reach(page, wanted)
    await page.keyboard.press('Enter')
  }
  const row = (page: Page, name: string) => page.getByRole('row').filter({ hasText: name })

  it('makes a key, turns it off and on, changes and deletes it', async () => {
    await opened(`/console/e/${enterpriseId}/keys`, async (page) => {
      await row(page, 'CI').waitFor()
      await press(page, page.getByRole('link', { name: 'Create key' }).first())
      const dialog = page.getByRole('dialog')
      await expect.poll(() => isFocused(dialog.getByLabel('Name', { exact: true }))).toBe(true)
      await page.keyboard.type('By hand')
      await reach(page, dialog.getByLabel('Monthly budget'))
      await page.keyboard.type('12.50')
      await press(page, dialog.getByRole('button', { name: 'Create key' }))
      await page.getByTestId('new-key').waitFor()
      // Escape must not lose the key.
      await page.keyboard.press('Escape')
      await press(page, page.getByRole('button', { name: 'I have saved the key' }))
      await row(page, 'By hand').getByText('/ $12.50').waitFor()

      await press(page, page.getByRole('button', { name: 'Actions for By hand' }))
      await page.getByRole('menuitem', { name: 'Turn off' }).waitFor()
      await reachByArrows(page, page.getByRole('menuitem', { name: 'Turn off' }))
      await page.keyboard.press('Enter')
      await row(page, 'By hand').getByText('Off', { exact: true }).waitFor()
      await press(page, page.getByRole('button', { name: 'Undo' }))
      await row(page, 'By hand').getByText('On', { exact: true }).waitFor()

      await page.keyboard.press('/')
      await page.keyboard.type('by hand')
      await row(page, 'CI').waitFor({ state: 'detached' })
      await press(page, row(page, 'By hand').getByRole('link'))
      const panel = page.getByRole('complementary', { name: 'Key' })
      await reach(page, panel.getByLabel('Name', { exact: true }))
      await page.keyboard.press('Control+a')
      await page.keyboard.type('By hand 2')
      await page.keyboard.press('Enter')
      await row(page, 'By hand 2').waitFor()
      await press(page, panel.getByRole('button', { name: 'Delete' }))
      await reach(page, dialog.getByLabel('Type By hand 2 to confirm'))
      await page.keyboard.type('By hand 2')
      await press(page, dialog.getByRole('button', { name: 'Delete' }))
      await panel.waitFor({ state: 'detached' })
      await page.getByText('No keys match').waitFor()
    })
  })

  it('filters the log, goes through its requests, and comes back to the list', async () => {
    await opened(`/console/e/${enterpriseId}/requests`, async (page) => {
      const rows = page.locator('[data-id]')
      await expect.poll(() => rows.count()).toBe(6)
      await press(page, page.getByRole('button', { name: 'Filter', exact: true }))
      const by = page.getByRole('combobox', { name: 'Filter by' })
      await reach(page, by)
      await page.keyboard.press('Enter')
      await reachByArrows(page, page.getByRole('option', { name: 'Tag' }))
      await page.keyboard.press('Enter')
      await reach(page, page.getByRole('textbox', { name: 'Value' }))
      await page.keyboard.type('team:blue')
      await page.keyboard.press('Enter')
      await expect.poll(() => rows.count()).toBe(4)
      await page.waitForURL(({ search }) => search === '?tag=team%3Ablue')

      const shown = await rows.evaluateAll((all) => all.map((one) => one.getAttribute('data-id') ?? ''))
      const panel = page.getByRole('complementary', { name: 'Request' })
      await press(page, page.locator(`[data-id="${shown[1] ?? ''}"]`).getByRole('link'))
      await panel.getByText(shown[1] ?? '').waitFor()
      for (const [key, at] of [
        ['j', 2],
        ['j', 3],
        ['k', 2],
      ] as const) {
        await page.keyboard.press(key)
        await panel.getByText(shown[at] ?? '').waitFor()
      }
      await page.keyboard.press('Escape')
      await panel.waitFor({ state: 'detached' })
      await page.waitForURL(({ search, pathname }) => pathname.endsWith('/requests') && search === '?tag=team%3Ablue')
      await press(page, page.getByRole('button', { name: 'Clear filters' }))
      await expect.poll(() => rows.count()).toBe(6)
    })
  })

  /** Lists and menus are gone through with arrows. */
  async function reachByArrows(page: Page, wanted: Locator): Promise<void> {
    await wanted.waitFor()
    for (let pressed = 0; pressed < MAX_TABS; pressed++) {
      const isThere = await wanted.evaluate(
        (one) => one === document.activeElement || one.hasAttribute('data-combobox-selected'),
      )
      if (isThere) return
      await page.keyboard.press('ArrowDown')
    }
    throw new Error(`${MAX_TABS} arrows do not lead to ${String(wanted)}.`)
  }
})
