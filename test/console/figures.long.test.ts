import { readFileSync } from 'node:fs'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startGateway } from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'
import { expectAccessible } from './accessible.ts'
import { CHROMIUM, NO_CHROMIUM, openBrowser, openPage } from './browser.ts'
import { ask, clientOf, firstAdmin, logIn, newPerson, settled } from './world.ts'

const TITLE =
  CHROMIUM === null ? `statistics, wallet and playground (${NO_CHROMIUM})` : 'statistics, wallet and playground'

describe.skipIf(CHROMIUM === null)(TITLE, () => {
  let gateway: TestGateway
  let browser: Browser
  let enterpriseId: string
  let captured: string

  beforeAll(async () => {
    gateway = await startGateway()
    browser = await openBrowser()
    const admin = await clientOf(gateway, firstAdmin(gateway))
    for (const id of ['sim-gpt', 'sim-claude']) {
      await admin.call('adminUpdateModel', {
        params: { id },
        body: { prices: { input: 2_000_000, output: 9_000_000 } },
      })
    }
    const { id } = await admin.call('adminCreateEnterprise', {
      body: { name: 'Acme', time_zone: 'Asia/Shanghai', owner_phone: firstAdmin(gateway).phone, is_prepaid: true },
    })
    enterpriseId = id
    const params = { id }
    await admin.call('topUpWallet', { params, body: { amount: 25_000_000, currency: 'USD', reference: 'invoice 1' } })
    const care = await admin.call('createDepartment', { params, body: { name: 'Customer care' } })
    const made = await admin.call('createEnterpriseKey', {
      params,
      body: { name: 'CI', department_id: care.id, capture: { requests: true, answers: true } },
    })
    const ids: string[] = []
    for (let at = 0; at < 8; at++) {
      ids.push(
        await ask(gateway, made.key, { model: at < 5 ? 'sim-gpt' : 'sim-claude', tag: at % 2 === 0 ? 'red' : 'blue' }),
      )
    }
    captured = await ask(gateway, made.key, { text: 'Say it once more' })
    await settled(admin, [...ids, captured])
  }, 120_000)

  afterAll(async () => {
    await browser.close()
    await gateway.stop()
  })

  async function opened(path: string, run: (page: Page) => Promise<void>, options = {}): Promise<void> {
    const { page, context, wrong } = await openPage(browser, gateway.url, options)
    await page.goto(path)
    await logIn(page, firstAdmin(gateway))
    await run(page)
    expect(wrong).toEqual([])
    await context.close()
  }

  const row = (page: Page, name: string) => page.getByRole('row').filter({ hasText: name })

  describe('statistics', () => {
    it('are grouped, split, filtered, and kept in the URL', async () => {
      await opened(`/console/e/${enterpriseId}/statistics`, async (page) => {
        await row(page, 'sim-claude').getByRole('cell', { name: '3', exact: true }).waitFor()
        await page.getByRole('combobox', { name: 'Metric' }).click()
        await page.getByRole('option', { name: 'Cost' }).click()
        await page.getByRole('img', { name: /Cost from .* in all/ }).waitFor()
        await page.getByRole('combobox', { name: 'Then by' }).click()
        await page.getByRole('option', { name: 'Key', exact: true }).click()
        await page.getByRole('button', { name: 'Split sim-gpt' }).click()
        await row(page, 'CI').waitFor()
        await page.getByRole('combobox', { name: 'Group by' }).click()
        await page.getByRole('option', { name: 'Tag' }).click()
        await page.getByRole('textbox', { name: 'Name of the tag' }).fill('team')
        await page.keyboard.press('Enter')
        await row(page, 'red').getByRole('cell', { name: '4', exact: true }).first().waitFor()
        await page.waitForURL(({ search }) => search === '?metric=cost&group=tag%3Ateam')
        await page.reload()
        await row(page, 'blue').waitFor()
        await page.getByRole('link', { name: 'red' }).click()
        await expect.poll(() => page.locator('[data-id]').count()).toBe(4)
      })
    })

    it('are saved as CSV', async () => {
      await opened(`/console/e/${enterpriseId}/statistics`, async (page) => {
        await row(page, 'sim-claude').waitFor()
        const [file] = await Promise.all([
          page.waitForEvent('download'),
          page.getByRole('button', { name: 'CSV' }).click(),
        ])
        const [head = '', ...lines] = readFileSync(await file.path(), 'utf8').split('\r\n')
        expect(head).toContain('time,model,name,requests,errors')
        expect(lines.some((line) => line.includes(',sim-claude,sim-claude,3,0,'))).toBe(true)
      })
    })
  })

  describe('the wallet', () => {
    it('shows balance, lines with the balance after each, and takes a payment once', async () => {
      await opened(`/console/e/${enterpriseId}/wallet`, async (page) => {
        await row(page, 'invoice 1').getByText('+$25.00').waitFor()
        await row(page, 'Requests of the day').waitFor()
        await row(page, 'Customer care').waitFor()
        await page.getByRole('button', { name: 'Top up' }).click()
        const dialog = page.getByRole('dialog')
        await dialog.getByRole('button', { name: 'Top up' }).click()
        await dialog.getByText('Enter an amount like 25 or 25.50.').waitFor()
        await dialog.getByLabel('Amount in USD').fill('10.50')
        await dialog.getByLabel('Reference').fill('invoice 2')
        await dialog.getByRole('button', { name: 'Top up' }).click()
        await page.getByText(/Booked\. The balance is \$35\.\d\d/).waitFor()
        await row(page, 'invoice 2').getByText('+$10.50').waitFor()
        await page.getByRole('button', { name: 'The month before' }).click()
        await page.getByText('No movements in this month').waitFor()
        await page.waitForURL(({ search }) => /^\?month=\d{4}-\d\d$/.test(search))
        await page.getByRole('button', { name: 'The month after' }).click()
        await page.getByRole('link', { name: 'Requests of the day' }).click()
        await page.locator('[data-id]').first().waitFor()
      })
    })

    it('offers no top-up to its owner where only the platform credits wallets', async () => {
      const owner = await newPerson(gateway, 'Ada Lovelace', '+12025550151')
      const admin = await clientOf(gateway, firstAdmin(gateway))
      const { id } = await admin.call('adminCreateEnterprise', { body: { name: 'Looms', owner_phone: owner.phone } })
      const { page, context, wrong } = await openPage(browser, gateway.url)
      await page.goto(`/console/e/${id}/wallet`)
      await logIn(page, owner)
      await page.getByText('Only the platform tops up wallets here: ask its admin.').waitFor()
      await page.getByText('No movements yet').waitFor()
      expect(await page.getByRole('button', { name: 'Top up' }).count()).toBe(0)
      expect(wrong).toEqual([])
      await context.close()
    })
  })

  describe('the playground', () => {
    const keyNames = async (): Promise<string[]> => {
      const admin = await clientOf(gateway, firstAdmin(gateway))
      const { data } = await admin.call('listEnterpriseKeys', { params: { id: enterpriseId } })
      return data.map(({ name }) => name)
    }

    it('asks two models side by side with a key of its own, which it deletes', async () => {
      await opened(`/console/e/${enterpriseId}/playground?model=sim-gpt&with=sim-claude`, async (page) => {
        await page.getByRole('button', { name: 'Make a key for this page' }).click()
        await page.getByTestId('playground-key').waitFor()
        for (const dialect of ['Chat completions', 'Messages', 'Responses']) {
          await page.getByText(dialect, { exact: true }).click()
          await page.getByRole('textbox', { name: 'Your message' }).fill(`Hello in ${dialect}`)
          await page.keyboard.press('Control+Enter')
          for (const model of ['sim-gpt', 'sim-claude']) {
            const lane = page.getByRole('region', { name: model })
            await lane.getByText(`Hello in ${dialect}`, { exact: true }).waitFor()
            await expect.poll(() => lane.getByText('First word').count(), { timeout: 20_000 }).toBeGreaterThan(0)
          }
          await page.getByRole('button', { name: 'Send' }).waitFor()
          await page.getByRole('button', { name: 'Clear' }).click()
        }
        await page.getByRole('textbox', { name: 'Your message' }).fill('What does it cost?')
        await page.keyboard.press('Control+Enter')
        const lane = page.getByRole('region', { name: 'sim-gpt' })
        await lane.getByText(/^\$0\.\d+$/).waitFor({ timeout: 40_000 })
        await page.getByRole('button', { name: 'As code' }).click()
        await page.getByRole('dialog').getByText('$SLUICE_API_KEY').waitFor()
        await page.keyboard.press('Escape')
        await lane.getByRole('link', { name: 'Request' }).click()
        await page.getByRole('complementary', { name: 'Request' }).waitFor()
        await expect.poll(keyNames).toEqual(['CI'])
        expect(await page.content()).not.toMatch(/sk-\w{40}/)
      })
    })

    it('deletes its key when the page is loaded again', async () => {
      await opened(`/console/e/${enterpriseId}/playground`, async (page) => {
        await page.getByRole('button', { name: 'Make a key for this page' }).click()
        await page.getByTestId('playground-key').waitFor()
        expect(await keyNames()).toHaveLength(2)
        await page.reload()
        await page.getByRole('button', { name: 'Make a key for this page' }).waitFor()
        await expect.poll(keyNames).toEqual(['CI'])
      })
    })

    it('stops, and takes up a request of the log with its content', async () => {
      await opened(`/console/e/${enterpriseId}/playground?request=${captured}`, async (page) => {
        const box = page.getByRole('textbox', { name: 'Your message' })
        await expect.poll(() => box.inputValue(), { timeout: 20_000 }).toBe('Say it once more')
        await page.getByRole('button', { name: 'Make a key for this page' }).click()
        await page.getByTestId('playground-key').waitFor()
        await box.fill('Slowly [[sim {"tokens":4000,"eventsPerSecond":10}]]')
        await page.getByRole('textbox', { name: 'Most tokens' }).fill('')
        await page.getByRole('button', { name: 'Send' }).click()
        await page.getByRole('button', { name: 'Stop' }).click()
        await page.getByText(/^Stopped/).waitFor()
      })
    })

    it('says what a wrong key is', async () => {
      await opened('/console/playground', async (page) => {
        await page.getByLabel('Or paste a key').fill(`sk-${'x'.repeat(40)}`)
        await page.getByRole('button', { name: 'Use this key' }).click()
        await page.getByRole('alert').getByText('Request id').waitFor()
      })
    })
  })

  it.each(['light', 'dark'] as const)('have no serious defect in the %s theme', async (colorScheme) => {
    await opened(
      `/console/e/${enterpriseId}/statistics`,
      async (page) => {
        await row(page, 'sim-claude').waitFor()
        await expectAccessible(page, 'statistics')
        await page.goto(`/console/e/${enterpriseId}/wallet`)
        await row(page, 'invoice 1').waitFor()
        await expectAccessible(page, 'wallet')
        await page.getByRole('button', { name: 'Top up' }).click()
        await page.getByRole('dialog').getByLabel('Reference').waitFor()
        await expectAccessible(page, 'top-up')
        await page.goto(`/console/e/${enterpriseId}/playground?model=sim-gpt&with=sim-claude`)
        await page.getByRole('heading', { name: 'sim-claude' }).waitFor()
        await expectAccessible(page, 'playground')
      },
      { colorScheme },
    )
  })
})
