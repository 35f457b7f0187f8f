import { readFileSync } from 'node:fs'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startGateway } from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'
import { WebhookReceiver } from '../support/webhook-receiver.ts'
import { expectAccessible } from './accessible.ts'
import { CHROMIUM, NO_CHROMIUM, openBrowser, openPage } from './browser.ts'
import { clientOf, firstAdmin, logIn } from './world.ts'

const TITLE = CHROMIUM === null ? `the pages of an enterprise (${NO_CHROMIUM})` : 'the pages of an enterprise'
/** The least cost of a request, by the prices below. */
const MICRO = 1_000_000

describe.skipIf(CHROMIUM === null)(TITLE, () => {
  let gateway: TestGateway
  let browser: Browser
  let receiver: WebhookReceiver
  let enterpriseId: string

  beforeAll(async () => {
    receiver = await WebhookReceiver.start()
    gateway = await startGateway({
      config: { alerts: { check_interval_ms: 200, private_webhooks: ['127.0.0.1'] } },
    })
    browser = await openBrowser()
    const admin = await clientOf(gateway, firstAdmin(gateway))
    await admin.call('adminUpdateModel', {
      params: { id: 'sim-gpt' },
      body: { prices: { input: MICRO, output: 1_000 * MICRO } },
    })
    const { id } = await admin.call('adminCreateEnterprise', {
      body: { name: 'Engines', owner_phone: firstAdmin(gateway).phone, platform_monthly_budget: 500 * MICRO },
    })
    enterpriseId = id
  })

  afterAll(async () => {
    await browser.close()
    await gateway.stop()
    await receiver.close()
  })

  /** A page of the admin. Nothing may go wrong on it. */
  async function opened(path: string, run: (page: Page) => Promise<void>, colorScheme?: 'dark'): Promise<void> {
    const { page, context, wrong } = await openPage(
      browser,
      gateway.url,
      colorScheme === undefined ? {} : { colorScheme },
    )
    await page.goto(`/console/e/${enterpriseId}/${path}`)
    await logIn(page, firstAdmin(gateway))
    await run(page)
    expect(wrong).toEqual([])
    await context.close()
  }

  const row = (page: Page, name: string) => page.getByRole('row').filter({ hasText: name })
  const choose = async (page: Page, label: string, option: string | RegExp): Promise<void> => {
    await page.getByRole('combobox', { name: label }).click()
    await page.getByRole('option', { name: option }).click()
  }

  it('a department has a budget that ends, moves with a preview, and is deleted when it is empty', async () => {
    const admin = await clientOf(gateway, firstAdmin(gateway))
    const params = { id: enterpriseId }
    await opened('departments', async (page) => {
      await page.getByText('No departments yet').waitFor()
      await page.getByRole('link', { name: 'Create department' }).first().click()
      const dialog = page.getByRole('dialog')
      await dialog.getByRole('button', { name: 'Create department' }).click()
      await dialog.getByText('Give the department a name.').waitFor()
      await dialog.getByLabel('Name').fill('Research')
      await dialog.getByLabel('Monthly budget').fill('a lot')
      await dialog.getByRole('button', { name: 'Create department' }).click()
      await dialog.getByText('Enter an amount like 25 or 12.50.').waitFor()
      await dialog.getByLabel('Monthly budget').fill('0.10')
      await dialog.getByRole('button', { name: 'Create department' }).click()
      await row(page, 'Research').getByText('/ $0.10').waitFor()
      for (const [name, below] of [
        ['Vision', 'Research'],
        ['Sales', null],
      ] as const) {
        await page.getByRole('link', { name: 'Create department' }).first().click()
        await dialog.getByLabel('Name').fill(name)
        if (below !== null) await choose(page, 'Below', below)
        await dialog.getByRole('button', { name: 'Create department' }).click()
        await row(page, name).first().waitFor()
      }
      // The budget above ends first.
      await row(page, 'Vision').getByText('Research', { exact: true }).waitFor()
    })
    const { data } = await admin.call('listDepartments', { params })
    const idOf = (name: string): string => data.find((one) => one.name === name)?.id ?? ''
    const body = { name: 'k', department_id: idOf('Vision') }
    const key = await admin.call('createEnterpriseKey', { params, body })
    // Until its reservation does not fit into the budget of the department above any more.
    const asked = async (): Promise<string> => {
      const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'sim-gpt', max_tokens: 60, messages: [{ role: 'user', content: 'hi' }] }),
      })
      return answer.text()
    }
    await expect.poll(asked, { timeout: 30_000 }).toContain('BUDGET_EXHAUSTED')
    // The page reads the spend once.
    const spent = async (): Promise<number> =>
      (await admin.call('getDepartment', { params: { ...params, departmentId: idOf('Research') } })).spend?.spent ?? 0
    await expect.poll(spent, { timeout: 30_000 }).toBeGreaterThan(11_000)
    await opened('departments', async (page) => {
      const meter = row(page, 'Research').first().getByRole('meter')
      await expect
        .poll(async () => Number(await meter.getAttribute('aria-valuenow')), { timeout: 30_000 })
        .toBeGreaterThan(10)
      await row(page, 'Vision').getByRole('link').click()
      const panel = page.getByRole('complementary', { name: 'Department' })
      await panel.getByText('ends first', { exact: true }).waitFor()
      await expectAccessible(page, 'department')
      await panel.getByRole('button', { name: 'Move' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByRole('combobox', { name: 'Move below' }).click()
      expect(await page.getByRole('option', { name: 'Vision' }).count()).toBe(0)
      await page.getByRole('option', { name: 'Sales' }).click()
      await dialog.getByText('Budgets that pay after the move').waitFor()
      await dialog.getByRole('row').filter({ hasText: 'Sales' }).waitFor()
      await dialog.getByRole('button', { name: 'Move' }).click()
      await panel.getByText('Sales').first().waitFor()
      await page.getByRole('button', { name: 'Undo' }).click()
      await panel.getByText('Research').first().waitFor()
      await panel.getByRole('button', { name: 'Delete' }).click()
      await page.getByText('“Vision” is not empty').waitFor()
      await dialog.getByText('1 key').waitFor()
      await page.keyboard.press('Escape')
      await page.goto(`/console/e/${enterpriseId}/departments`)
      await page.getByRole('button', { name: 'Actions for Sales' }).click()
      await page.getByRole('menuitem', { name: 'Delete' }).click()
      await dialog.getByLabel('Type Sales to confirm').fill('Sales')
      await dialog.getByRole('button', { name: 'Delete' }).click()
      await row(page, 'Sales').waitFor({ state: 'detached' })
    })
  })

  it('settings are saved by section, with a way back, and keep edits through a change by somebody else', async () => {
    const admin = await clientOf(gateway, firstAdmin(gateway))
    await opened('settings', async (page) => {
      const general = page.getByRole('region', { name: 'General' })
      const budgets = page.getByRole('region', { name: 'Budgets' })
      await budgets.getByText('$500.00').first().waitFor()
      await page.getByRole('combobox', { name: 'Time zone' }).fill('Shanghai')
      await page.getByRole('option', { name: 'Asia/Shanghai' }).click()
      await general.getByRole('button', { name: 'Save' }).click()
      await page.getByRole('button', { name: /Asia\/Shanghai/ }).waitFor()
      // Its "Undo" is not the one of the next change.
      await page.getByRole('status').getByRole('button', { name: 'Close' }).click()
      await budgets.getByLabel('Monthly budget').fill('40')
      await admin.call('updateEnterprise', { params: { id: enterpriseId }, body: { name: 'Better engines' } })
      await budgets.getByRole('button', { name: 'Save' }).click()
      await budgets.getByText('Somebody else changed this meanwhile').waitFor()
      expect(await budgets.getByLabel('Monthly budget').inputValue()).toBe('40')
      expect(await general.getByLabel('Name', { exact: true }).inputValue()).toBe('Better engines')
      await budgets.getByRole('button', { name: 'Save' }).click()
      await budgets.getByText('$40.00').first().waitFor()
      await page.getByRole('button', { name: 'Undo' }).click()
      await budgets.getByText('$40.00').first().waitFor({ state: 'detached' })
      const capture = page.getByRole('region', { name: 'Capture of bodies' })
      await capture.getByLabel('Keep the bodies of requests').check({ force: true })
      await capture.getByLabel('Redact', { exact: true }).fill('[A-Z]{2}[0-9]{20}')
      await capture.getByLabel('Redact', { exact: true }).press('Enter')
      await capture.getByRole('button', { name: 'Save' }).click()
      await capture.getByRole('button', { name: 'Save' }).waitFor({ state: 'detached' })
      await capture.getByLabel('Keep the bodies of requests').uncheck({ force: true })
      await capture.getByRole('button', { name: 'Save' }).click()
      await capture.getByRole('button', { name: 'Save' }).waitFor({ state: 'detached' })
      const { capture: kept } = await admin.call('getEnterprise', { params: { id: enterpriseId } })
      expect(kept).toMatchObject({ requests: false, redact: ['[A-Z]{2}[0-9]{20}'] })
      await page.getByRole('button', { name: 'Delete the enterprise' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByText('1 key').waitFor()
      expect(await dialog.getByRole('button', { name: 'Delete the enterprise' }).isDisabled()).toBe(true)
      await dialog.getByRole('button', { name: 'Cancel' }).click()
      await page.getByRole('button', { name: 'Leave the enterprise' }).click()
      await dialog.getByRole('button', { name: 'Leave the enterprise' }).click()
      // The only owner.
      await dialog.getByText(/needs an owner/).waitFor()
    })
  })

  it('an alert shows its secret once, its test the answer of the receiver, and what fires', async () => {
    await opened('alerts', async (page) => {
      await page.getByText('No alerts yet').waitFor()
      await page.getByRole('link', { name: 'Create alert' }).first().click()
      const dialog = page.getByRole('dialog')
      await dialog.getByRole('button', { name: 'Create alert' }).click()
      await dialog.getByText('Enter at least one receiver.').waitFor()
      // On a low screen the fields scroll, and the buttons stay in sight.
      await page.setViewportSize({ width: 1280, height: 560 })
      const button = await dialog.getByRole('button', { name: 'Create alert' }).boundingBox()
      expect((button?.y ?? 560) + (button?.height ?? 0)).toBeLessThanOrEqual(560)
      await dialog.getByLabel('Receiver 1').fill(receiver.url('/hook'))
      await dialog.getByLabel('Quiet hours').check({ force: true })
      await expectAccessible(page, 'new alert')
      await dialog.getByRole('button', { name: 'Create alert' }).click()
      const secret = (await page.getByTestId('webhook-secret').textContent()) ?? ''
      expect(secret).toMatch(/^whsec_/)
      await dialog.getByRole('button', { name: 'I have saved it' }).click()
      await row(page, 'Budgets').getByText('22:00–07:00').waitFor()
      expect(await page.content()).not.toContain(secret)
      await row(page, 'Budgets').getByRole('link').click()
      const panel = page.getByRole('complementary', { name: 'Alert' })
      receiver.answers.push(503)
      await panel.getByRole('button', { name: 'Send a test message' }).click()
      await panel.getByText('HTTP 503').waitFor()
      await panel.getByRole('button', { name: 'Send a test message' }).click()
      await panel.getByText('HTTP 204').waitFor()
      await panel.getByRole('button', { name: 'Turn off' }).click()
      await row(page, 'Budgets').getByText('Off', { exact: true }).waitFor()
      await page.getByRole('button', { name: 'Undo' }).click()
      await row(page, 'Budgets')
        .getByText(/Calm|Firing/)
        .waitFor()
      await page.getByRole('tab', { name: 'Summary mail' }).click()
      await page.getByText('Daily').click()
      await page.getByRole('combobox', { name: 'Recipients' }).fill('ops@example.com')
      await page.keyboard.press('Enter')
      await page.getByRole('button', { name: 'Save' }).click()
      // This installation sends no mail, and the gateway says so.
      await page.getByText(/sends no e-mails/).waitFor()
    })
  })

  it('the audit log tells who changed what from which to which value, filtered by the URL, and is exported', async () => {
    await opened('audit?operation=updateEnterprise', async (page) => {
      await row(page, 'Changed the settings').first().waitFor()
      await row(page, 'time_zone').getByRole('link').click()
      const panel = page.getByRole('complementary', { name: 'Audit entry' })
      await panel.getByRole('row').filter({ hasText: 'time_zone' }).getByText('Asia/Shanghai').waitFor()
      await panel.getByRole('row').filter({ hasText: 'time_zone' }).getByText('UTC').waitFor()
      await expectAccessible(page, 'audit entry')
      await page.keyboard.press('Escape')
      await page.getByRole('button', { name: 'Export' }).click()
      const [file] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('menuitem', { name: 'CSV' }).click(),
      ])
      const lines = readFileSync(await file.path(), 'utf8')
        .trim()
        .split('\r\n')
      expect(lines[0]).toMatch(/^time,user_id,role,operation/)
      expect(lines.slice(1).every((line) => line.includes('updateEnterprise'))).toBe(true)
      await page.getByRole('button', { name: 'Clear filters' }).click()
      await row(page, 'Created an alert').waitFor()
      // It is gone: the entry itself has its name.
      await row(page, 'Deleted a department').getByText('Sales').waitFor()
      await page.getByText('Refused', { exact: true }).click()
      await page.getByText('No entries match').waitFor()
      await page.waitForURL(({ search }) => search === '?outcome=refused')
    })
  })

  it.each([undefined, 'dark'] as const)(
    'has no serious defect for people who cannot see or point (%s)',
    async (colorScheme) => {
      await opened(
        'members',
        async (page) => {
          await row(page, 'Administrator').waitFor()
          for (const path of [
            'members',
            'departments',
            'joins',
            'alerts',
            'audit',
            'settings',
            'departments/new',
            'members/new',
          ]) {
            await page.goto(`/console/e/${enterpriseId}/${path}`)
            await page.getByRole('heading', { level: 1 }).waitFor()
            await expectAccessible(page, path)
          }
        },
        colorScheme,
      )
    },
  )
})
