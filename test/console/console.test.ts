import { readFileSync } from 'node:fs'
import OpenAI from 'openai'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { itLater } from '../support/dose.ts'
import { eventually } from '../support/eventually.ts'
import { startGateway } from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'
import { expectAccessible } from './accessible.ts'
import { CHROMIUM, NO_CHROMIUM, openBrowser, openPage } from './browser.ts'
import type { WatchedPage } from './browser.ts'
import { ask, captured, clientOf, firstAdmin, logIn, newPerson, settled } from './world.ts'

/** Compressed, from nothing to the page of keys. */
const MAX_FIRST_LOAD_BYTES = 300_000
const TITLE = CHROMIUM === null ? `the console in a browser (${NO_CHROMIUM})` : 'the console in a browser'

describe.skipIf(CHROMIUM === null)(TITLE, () => {
  let gateway: TestGateway
  let browser: Browser
  let enterpriseId: string
  let secret: string
  let ids: string[]

  beforeAll(async () => {
    gateway = await startGateway()
    browser = await openBrowser()
    const admin = await clientOf(gateway, firstAdmin(gateway))
    const { id } = await admin.call('adminCreateEnterprise', {
      body: { name: 'Engines', time_zone: 'Asia/Shanghai', owner_phone: firstAdmin(gateway).phone },
    })
    enterpriseId = id
    const made = await admin.call('createEnterpriseKey', {
      params: { id },
      body: { name: 'CI', monthly_budget: 9_000_000 },
    })
    secret = made.key
    ids = []
    for (let at = 0; at < 12; at++) {
      ids.push(
        await ask(gateway, secret, { model: at % 4 === 3 ? 'no-such-model' : 'sim-gpt', tag: at < 2 ? 'red' : 'blue' }),
      )
    }
    await settled(admin, ids)
  })

  afterAll(async () => {
    await browser.close()
    await gateway.stop()
  })

  /** A page of somebody who is logged in. Nothing may go wrong on it. */
  async function opened(path: string, run: (watched: WatchedPage) => Promise<void>): Promise<void> {
    const watched = await openPage(browser, gateway.url)
    await watched.page.goto(path)
    await logIn(watched.page, firstAdmin(gateway))
    await run(watched)
    expect(watched.wrong).toEqual([])
    await watched.context.close()
  }

  const row = (page: Page, name: string) => page.getByRole('row').filter({ hasText: name })

  describe('log-in', () => {
    it('leads to the page that was asked for, small, and stays after a reload', async () => {
      await opened(`/console/e/${enterpriseId}/keys?sort=name`, async ({ page }) => {
        await row(page, 'CI').waitFor()
        await page.waitForURL(({ search }) => search === '?sort=name')
        await page.waitForLoadState('networkidle')
        const loaded = await page.evaluate(() =>
          [...performance.getEntriesByType('resource'), ...performance.getEntriesByType('navigation')]
            .map((entry) => entry as PerformanceResourceTiming)
            .filter(({ name }) => name.includes('/console'))
            .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0),
        )
        expect(loaded).toBeGreaterThan(100_000)
        expect(loaded).toBeLessThan(MAX_FIRST_LOAD_BYTES)
        await page.reload()
        await row(page, 'CI').waitFor()
        expect(await page.title()).toBe('API keys · Sluice')
        // A page beyond the end.
        await page.goto(`/console/e/${enterpriseId}/keys?sort=name&page=9`)
        await row(page, 'CI').waitFor()
        expect(new URL(page.url()).search).toBe('?sort=name')
      })
    })

    it('refuses without saying why, keeps what was typed, and names the wait', async () => {
      const { page, context, wrong } = await openPage(browser, gateway.url)
      await page.goto('/console/keys')
      const wrongPerson = { phone: '+12025550111', password: 'not the password' }
      await logIn(page, wrongPerson)
      await page.getByText('The phone number or the password is wrong').first().waitFor()
      expect(await page.getByLabel('Phone number').inputValue()).toBe(wrongPerson.phone)
      const submit = page.getByRole('button', { name: 'Log in', exact: true })
      await eventually(
        async () => {
          if (await submit.isEnabled()) await submit.click()
          expect(await page.getByText(/Try again in \d+ sec/).count()).toBe(1)
        },
        { timeoutMs: 30_000 },
      )
      expect(await submit.isDisabled()).toBe(true)
      expect(wrong).toEqual([])
      await context.close()
    })

    itLater('goes to a page of the console on this origin, and nowhere else', async () => {
      for (const [back, path] of [
        [`/console/e/${enterpriseId}/requests?range=7d`, `/console/e/${enterpriseId}/requests?range=7d`],
        ['https://elsewhere.example/console/keys', '/console/overview'],
      ] as const) {
        await opened(`/console/login?back=${encodeURIComponent(back)}`, async ({ page }) => {
          await page
            .getByRole('heading', { level: 1 })
            .and(page.getByText(/Overview|Requests/))
            .waitFor()
          await page.waitForURL(`${gateway.url}${path}`)
        })
      }
    })

    itLater('comes over the page when the session ends: what was typed stays, and the act goes on', async () => {
      await opened('/console/keys/new', async ({ page }) => {
        await page.getByLabel('Name', { exact: true }).fill('after the end')
        const token = await page.evaluate(() => localStorage.getItem('sluice.token'))
        await fetch(`${gateway.url}/api/auth/logout`, { method: 'POST', headers: { authorization: `Bearer ${token}` } })
        await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click()
        await page.getByText('Your session has ended').waitFor()
        await logIn(page, firstAdmin(gateway))
        await page.getByText('“after the end” is ready').waitFor()
      })
    })

    it('of another person over the page gives up what the first one asked for, also in other tabs', async () => {
      const second = await newPerson(gateway, 'Second Person', '+12025550142')
      await opened('/console/keys/new', async ({ page, context }) => {
        await page.getByLabel('Name', { exact: true }).fill('of the first')
        const other = await context.newPage()
        await other.goto(`/console/e/${enterpriseId}/keys`)
        await row(other, 'CI').waitFor()
        const token = await page.evaluate(() => localStorage.getItem('sluice.token'))
        await fetch(`${gateway.url}/api/auth/logout`, { method: 'POST', headers: { authorization: `Bearer ${token}` } })
        await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click()
        await page.getByText('Your session has ended').waitFor()
        await logIn(page, second)
        for (const one of [page, other]) await one.getByRole('button', { name: /^Second Person/ }).waitFor()
        expect(await row(other, 'CI').count()).toBe(0)
        expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('')
        const { data } = await (await clientOf(gateway, second)).call('listKeys', {})
        expect(data).toEqual([])
      })
    })

    itLater('is forgotten at the log-out, also in other tabs', async () => {
      await opened('/console/keys', async ({ page, context }) => {
        await page.getByRole('button', { name: /^Administrator/ }).waitFor()
        const other = await context.newPage()
        await other.goto('/console/requests')
        await other.getByRole('heading', { name: 'Requests' }).waitFor()
        await page.getByRole('button', { name: /^Administrator/ }).click()
        await page.getByRole('menuitem', { name: 'Log out' }).click()
        for (const one of [page, other]) await one.getByRole('heading', { name: 'Log in' }).waitFor()
        expect(await page.evaluate(() => localStorage.getItem('sluice.token'))).toBeNull()
      })
    })
  })

  describe('keys', () => {
    it('are made with a budget, shown once, and used by the OpenAI SDK', async () => {
      await opened(`/console/e/${enterpriseId}/keys`, async ({ page }) => {
        await page.getByRole('link', { name: 'Create key' }).first().click()
        const dialog = page.getByRole('dialog')
        await dialog.getByRole('button', { name: 'Create key' }).click()
        await dialog.getByText('Give the key a name.').waitFor()
        await dialog.getByLabel('Name', { exact: true }).fill('Chatbot')
        await dialog.getByLabel('Monthly budget').fill('12.50')
        const searched = page.waitForRequest((request) => /\/members\?.*search=Admin/.test(request.url()))
        await dialog.getByRole('combobox', { name: 'Member' }).fill('Admin')
        await searched
        await page.getByRole('option', { name: 'Administrator' }).click()
        await dialog.getByRole('button', { name: 'Limits and access' }).click()
        await dialog.getByLabel('Addresses').fill('not an address')
        await dialog.getByLabel('Requests per minute').fill('600')
        await dialog.getByRole('button', { name: 'Create key' }).click()
        // The gateway's own words, at the field.
        await dialog.getByText(/must be an address or a CIDR range/).waitFor()
        for (const left of await dialog.locator('.mantine-Pill-remove').all()) await left.click()
        await dialog.getByRole('button', { name: 'Create key' }).click()
        const key = (await page.getByTestId('new-key').textContent()) ?? ''
        expect(key).toMatch(/^sk-\w{40}$/)
        for (const [tab, part] of [
          ['curl', `Bearer ${key}`],
          ['Python', `api_key="${key}"`],
          ['TypeScript', `apiKey: '${key}'`],
          ['Claude Code', `ANTHROPIC_AUTH_TOKEN=${key}`],
          ['Codex', `SLUICE_API_KEY=${key}`],
        ] as const) {
          await page.getByRole('tab', { name: tab }).click()
          expect(await page.locator('pre').textContent()).toContain(part)
        }
        const answer = await new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: key }).chat.completions.create({
          model: 'sim-gpt',
          messages: [{ role: 'user', content: 'Say hello' }],
        })
        expect(answer.choices).toHaveLength(1)
        await page.getByRole('button', { name: 'I have saved the key' }).click()
        await row(page, 'Chatbot').getByText('/ $12.50').waitFor()
        // The key is nowhere any more.
        expect(await page.content()).not.toContain(key)
        expect(await page.evaluate(() => JSON.stringify([localStorage, sessionStorage, location.href]))).not.toContain(
          key,
        )
      })
    })

    itLater('are in the list at once, also where the list was still under way', async () => {
      const { page, context, wrong } = await openPage(browser, gateway.url)
      const made = page.waitForResponse(
        (answer) => answer.request().method() === 'POST' && answer.url().endsWith('/keys'),
      )
      // Answers from before the key existed arrive after it.
      await page.route(
        ({ pathname }) => pathname === '/api/keys',
        async (route) => {
          const answer = await route.fetch()
          await made
          await route.fulfill({ response: answer })
        },
        { times: 1 },
      )
      await page.goto('/console/keys/new')
      await logIn(page, firstAdmin(gateway))
      await page.getByLabel('Name', { exact: true }).fill('Early')
      await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click()
      await page.getByRole('button', { name: 'I have saved the key' }).click()
      await row(page, 'Early').waitFor()
      expect(wrong).toEqual([])
      await page.unrouteAll({ behavior: 'wait' })
      await context.close()
    })

    itLater('have budgets for some models, tools, and bodies that are kept', async () => {
      await opened(`/console/e/${enterpriseId}/keys/new`, async ({ page }) => {
        const dialog = page.getByRole('dialog')
        await dialog.getByLabel('Name', { exact: true }).fill('Detailed')
        await dialog.getByRole('button', { name: 'Limits and access' }).click()
        await dialog.getByLabel('Tools').fill('chat_completion')
        await dialog.getByLabel('Tools').press('Enter')
        await dialog.getByRole('button', { name: 'Add a budget' }).click()
        const budgets = dialog.getByRole('group', { name: 'Budgets for some models' })
        await dialog.getByRole('button', { name: 'Create key' }).click()
        await budgets.getByText('Enter a model.').waitFor()
        await budgets.getByLabel('Models of budget 1').fill('sim-gpt')
        await budgets.getByLabel('Models of budget 1').press('Enter')
        await budgets.getByLabel('Monthly budget').fill('3.5')
        await dialog.getByRole('combobox', { name: 'Bodies of requests and answers' }).click()
        await page.getByRole('option', { name: 'Kept', exact: true }).click()
        await dialog.getByLabel('Per cent of the requests').fill('50')
        await dialog.getByRole('button', { name: 'Create key' }).click()
        await page.getByTestId('new-key').waitFor()
        const admin = await clientOf(gateway, firstAdmin(gateway))
        const { data } = await admin.call('listEnterpriseKeys', {
          params: { id: enterpriseId },
          query: { search: 'Detailed' },
        })
        expect(data[0]).toMatchObject({
          mcp_tools: ['chat_completion'],
          model_budgets: [{ models: ['sim-gpt'], monthly_budget: 3_500_000, monthly_tokens: null }],
          capture: { requests: true, answers: true, sample: 0.5, redact: [], retain_days: 30 },
        })
      })
    })

    it('are turned off with a way back, rotated with a grace period, and deleted by name', async () => {
      await opened('/console/keys/new', async ({ page }) => {
        await page.getByLabel('Name', { exact: true }).fill('Short-lived')
        await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click()
        await page.getByRole('button', { name: 'I have saved the key' }).click()
        await page.getByRole('button', { name: 'Actions for Short-lived' }).click()
        await page.getByRole('menuitem', { name: 'Turn off' }).click()
        await row(page, 'Short-lived').getByText('Off', { exact: true }).waitFor()
        // The row is on before the gateway has said so.
        const isOn = page.waitForResponse((answer) => answer.url().endsWith('/toggle'))
        await page.getByRole('button', { name: 'Undo' }).click()
        await isOn
        await row(page, 'Short-lived').getByText('On', { exact: true }).waitFor()

        await row(page, 'Short-lived').getByRole('link').click()
        const panel = page.getByRole('complementary', { name: 'Key' })
        await panel.getByRole('button', { name: 'Rotate' }).click()
        await page.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click()
        await page.getByTestId('new-key').waitFor()
        await page.getByRole('button', { name: 'I have saved the key' }).click()
        await panel.getByText('The key from before is valid until').waitFor()
        await row(page, 'Short-lived').getByText('Rotating').waitFor()

        await panel.getByLabel('Name', { exact: true }).fill('Renamed')
        await panel.getByRole('button', { name: 'Save' }).click()
        await row(page, 'Renamed').waitFor()

        await panel.getByRole('button', { name: 'Delete' }).click()
        const dialog = page.getByRole('dialog')
        await dialog.getByText(/It had (no|\d+) requests in the last 7 days/).waitFor()
        expect(await dialog.getByRole('button', { name: 'Delete' }).isDisabled()).toBe(true)
        await dialog.getByLabel('Type Renamed to confirm').fill('Renamed')
        await dialog.getByRole('button', { name: 'Delete' }).click()
        await row(page, 'Renamed').waitFor({ state: 'detached' })
        await page.waitForURL(({ pathname }) => pathname === '/console/keys')
      })
    })

    itLater('are found by what the URL says, which Back and a reload keep', async () => {
      const admin = await clientOf(gateway, firstAdmin(gateway))
      for (const name of ['Apple', 'Banana']) await admin.call('createKey', { body: { name } })
      await opened('/console/keys', async ({ page }) => {
        await row(page, 'Banana').waitFor()
        await page.keyboard.press('/')
        await page.keyboard.type('appl')
        await row(page, 'Banana').waitFor({ state: 'detached' })
        await page.waitForURL(({ search }) => search === '?search=appl')
        await page.getByText('Off', { exact: true }).click()
        await page.getByText('No keys match').waitFor()
        await page.goBack()
        await row(page, 'Apple').waitFor()
        await page.reload()
        await row(page, 'Apple').waitFor()
        expect(await page.getByLabel('Name or part of the key').inputValue()).toBe('appl')
      })
    })
  })

  describe('requests', () => {
    it('are listed, filtered by chips in the URL, and found by id', async () => {
      await opened(`/console/e/${enterpriseId}/requests?status=404&range=7d`, async ({ page }) => {
        await row(page, 'no-such-model').first().waitFor()
        expect(await row(page, 'sim-gpt').count()).toBe(0)
        await page.getByRole('button', { name: 'Remove the filter by Status' }).click()
        await row(page, 'sim-gpt').first().waitFor()
        await page.waitForURL(({ search }) => search === '?range=7d')
        await page.getByRole('button', { name: 'Filter', exact: true }).click()
        await page.getByRole('combobox', { name: 'Filter by' }).click()
        await page.getByRole('option', { name: 'Tag' }).click()
        await page.getByRole('textbox', { name: 'Value' }).fill('team:red')
        await page.getByRole('button', { name: 'Apply' }).click()
        await expect.poll(() => page.locator('[data-id]').count()).toBe(2)
        await page.reload()
        await page.getByText('team:red').waitFor()
        await page.getByRole('button', { name: 'Clear filters' }).click()
        await page.getByLabel('Request id, or a part of it').fill(ids[5] ?? '')
        await expect.poll(() => page.locator('[data-id]').count()).toBe(1)
      })
    })

    itLater('open beside the list at an address of their own, and J and K go on within the filter', async () => {
      await opened(`/console/platform/requests?model=sim-gpt`, async ({ page }) => {
        const links = page.locator('[data-id]')
        await links.first().waitFor()
        const shown = await links.evaluateAll((rows) => rows.map((one) => one.getAttribute('data-id') ?? ''))
        await page
          .locator(`[data-id="${shown[1] ?? ''}"]`)
          .getByRole('link')
          .click()
        const panel = page.getByRole('complementary', { name: 'Request' })
        await panel.getByText(shown[1] ?? '').waitFor()
        for (const part of ['Timing', 'Attempt 1', 'Until the first byte', 'Tokens and cost', 'simulator-chat']) {
          await panel.getByText(part).first().waitFor()
        }
        await page.keyboard.press('j')
        await panel.getByText(shown[2] ?? '').waitFor()
        await page.keyboard.press('k')
        await page.keyboard.press('k')
        await panel.getByText(shown[0] ?? '').waitFor()
        await page.waitForURL(`${gateway.url}/console/platform/requests/${shown[0] ?? ''}?model=sim-gpt`)
        await page.reload()
        await panel.getByText(shown[0] ?? '').waitFor()
        await page.keyboard.press('Escape')
        await panel.waitFor({ state: 'detached' })
        await page.waitForURL(`${gateway.url}/console/platform/requests?model=sim-gpt`)
        await page.goto('/console/requests/req_none')
        await page.getByText('There is no such request').waitFor()
      })
    })

    itLater('show their bodies to who may look, with the answer put together, until they are erased', async () => {
      const admin = await clientOf(gateway, firstAdmin(gateway))
      const { key } = await admin.call('createEnterpriseKey', {
        params: { id: enterpriseId },
        body: { name: 'Captured', monthly_budget: null, capture: { requests: true, answers: true } },
      })
      const id = await ask(gateway, key, { text: "What's kept?", stream: true })
      await captured(admin, enterpriseId, id)
      await opened(`/console/e/${enterpriseId}/requests/${id}?range=7d`, async ({ page, context }) => {
        await context.grantPermissions(['clipboard-read', 'clipboard-write'])
        const panel = page.getByRole('complementary', { name: 'Request' })
        await panel.getByText('Each look at them is in the audit log').waitFor()
        expect(await panel.getByText("What's kept?").count()).toBe(0)
        await panel.getByRole('button', { name: 'Show the bodies' }).click()
        await expect.poll(() => panel.locator('pre').first().textContent()).toContain("What's kept?")
        // The answer is a sentence, not events.
        expect(await panel.locator('pre').last().textContent()).not.toContain('data:')
        await panel.getByText('Events', { exact: true }).click()
        await expect.poll(() => panel.locator('pre').last().textContent()).toContain('data: {')
        const [file] = await Promise.all([
          page.waitForEvent('download'),
          panel.getByRole('button', { name: 'Download: Answer' }).click(),
        ])
        expect(readFileSync(await file.path(), 'utf8')).toContain('data: [DONE]')
        await expectAccessible(page, 'bodies')
        await panel.getByRole('button', { name: 'Copy', exact: true }).click()
        await page.getByRole('menuitem', { name: 'As curl, without the key' }).click()
        await expect
          .poll(() => page.evaluate(() => navigator.clipboard.readText()))
          .toContain(String.raw`What'\''s kept?`)
        await page.getByRole('menu').waitFor({ state: 'hidden' })
        expect(await panel.getByRole('link', { name: 'Run again' }).getAttribute('href')).toBe(
          `/console/e/${enterpriseId}/playground?model=sim-gpt&request=${id}`,
        )
        await panel.getByRole('button', { name: 'Erase the bodies' }).click()
        await page.getByRole('dialog').getByRole('button', { name: 'Erase the bodies' }).click()
        await page.getByText('The bodies are erased').waitFor()
        await panel.getByText('Each look at them is in the audit log').waitFor({ state: 'detached' })
        expect(await panel.getByText("What's kept?").count()).toBe(0)
      })
    })

    itLater('are exported as they are filtered, and copied without their key', async () => {
      await opened(`/console/e/${enterpriseId}/requests/${ids[0] ?? ''}?status=404`, async ({ page, context }) => {
        await context.grantPermissions(['clipboard-read', 'clipboard-write'])
        const panel = page.getByRole('complementary', { name: 'Request' })
        await panel.getByRole('button', { name: 'Copy', exact: true }).click()
        await page.getByRole('menuitem', { name: 'As curl, without the key' }).click()
        await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toContain('$SLUICE_API_KEY')
        expect(await page.evaluate(() => navigator.clipboard.readText())).not.toContain('sk-')
        await page.getByRole('menu').waitFor({ state: 'hidden' })
        await page.keyboard.press('Escape')
        await panel.waitFor({ state: 'detached' })
        await page.getByRole('button', { name: 'Export' }).click()
        const [file] = await Promise.all([
          page.waitForEvent('download'),
          page.getByRole('menuitem', { name: 'NDJSON' }).click(),
        ])
        expect(file.suggestedFilename()).toBe('requests.ndjson')
        const lines = readFileSync(await file.path(), 'utf8')
          .trim()
          .split('\n')
        expect(lines.map((line) => (JSON.parse(line) as { status: number }).status)).toEqual([404, 404, 404])
        await page.getByText('The export is saved').waitFor()
      })
    })

    it('arrive live, within the filter', async () => {
      await opened(`/console/e/${enterpriseId}/requests?model=sim-gpt`, async ({ page }) => {
        await page.locator('[data-id]').first().waitFor()
        const streaming = page.waitForResponse((answer) => answer.url().includes('/logs/stream'))
        await page.getByRole('button', { name: 'Live' }).click()
        await streaming
        await ask(gateway, secret, { model: 'no-such-model' })
        const id = await ask(gateway, secret, { text: 'Are you there?' })
        await page.locator(`[data-id="${id}"]`).waitFor()
        expect(await page.locator('[data-id]').first().getAttribute('data-id')).toBe(id)
        expect(await row(page, 'no-such-model').count()).toBe(0)
      })
    })

    it('that the stream did not tell are read when the first row is in sight again', async () => {
      await opened(`/console/e/${enterpriseId}/requests`, async ({ page }) => {
        await page.setViewportSize({ width: 1280, height: 460 })
        await page.locator('[data-id]').first().waitFor()
        let connections = 0
        await page.route('**/logs/stream*', async (route) => {
          connections += 1
          // The first one ends at once, later ones wait for ever.
          if (connections === 1) {
            await route.fulfill({ contentType: 'text/event-stream', body: 'event: ready\ndata: {"resumed":false}\n\n' })
          }
        })
        let reads = 0
        page.on('request', (request) => {
          if (new URL(request.url()).pathname.endsWith('/logs')) reads += 1
        })
        const list = page.getByRole('table', { name: 'Requests' })
        await list.evaluate((scroller) => {
          scroller.scrollTop = 200
        })
        await page.getByRole('button', { name: 'Live' }).click()
        await page.getByText('The live stream was lost').waitFor()
        expect(reads).toBe(0)
        await list.evaluate((scroller) => {
          scroller.scrollTop = 0
        })
        await expect.poll(() => reads, { timeout: 15_000 }).toBe(1)
        await page.unrouteAll({ behavior: 'ignoreErrors' })
      })
    })

    itLater('show the chosen columns, which the browser remembers', async () => {
      await opened(`/console/e/${enterpriseId}/requests`, async ({ page }) => {
        await page.getByRole('columnheader', { name: 'Model' }).waitFor()
        await page.getByRole('button', { name: 'Columns' }).click()
        await page.getByLabel('Client', { exact: true }).check()
        await page.getByRole('columnheader', { name: 'Client' }).waitFor()
        await page.reload()
        await page.getByRole('columnheader', { name: 'Client' }).waitFor()
      })
    })
  })

  describe('people', () => {
    itLater('see what their role may see', async () => {
      const admin = await clientOf(gateway, firstAdmin(gateway))
      for (const [role, phone] of [
        ['finance', '+12025550161'],
        ['employee', '+12025550162'],
      ] as const) {
        const person = await newPerson(gateway, `The ${role}`, phone)
        const { token } = await admin.call('invite', { params: { id: enterpriseId }, body: { phone, role } })
        await (await clientOf(gateway, person)).call('acceptInvitation', { body: { token } })
        const { page, context, wrong } = await openPage(browser, gateway.url)
        await page.goto(`/console/e/${enterpriseId}/keys`)
        await logIn(page, person)
        if (role === 'finance') {
          await row(page, 'CI').waitFor()
          expect(await page.getByRole('link', { name: 'Create key' }).count()).toBe(0)
          expect(await page.getByRole('navigation').getByRole('link', { name: 'Requests' }).count()).toBe(0)
        } else {
          await page.getByText('There is no such page').waitFor()
          await page.getByRole('navigation').getByRole('link', { name: 'Members' }).waitFor()
          expect(await page.getByRole('navigation').getByRole('link', { name: 'API keys' }).count()).toBe(0)
        }
        await page.goto('/console/platform/requests')
        await page.getByText('There is no such page').waitFor()
        expect(wrong).toEqual([])
        await context.close()
      }
    })

    itLater('read in their language, in their zone, and go by keyboard', async () => {
      await opened(`/console/e/${enterpriseId}/keys`, async ({ page }) => {
        await row(page, 'CI').waitFor()
        await page.getByText('Asia/Shanghai (GMT+8)').click()
        await page.getByRole('menuitemradio', { name: 'UTC' }).click()
        await page.getByRole('button', { name: /UTC/ }).waitFor()
        await page.getByRole('menu').waitFor({ state: 'hidden' })
        await page.keyboard.press('g')
        await page.keyboard.press('r')
        await page.getByRole('heading', { name: 'Requests' }).waitFor()
        await page.keyboard.press('?')
        await page.getByRole('dialog').getByText('Keyboard shortcuts').waitFor()
        await page.keyboard.press('Escape')
        await page.getByRole('dialog').waitFor({ state: 'detached' })
        await page.keyboard.press('Control+k')
        await page.getByRole('dialog').getByRole('combobox').fill('中文')
        await page.keyboard.press('Enter')
        await page.getByRole('heading', { name: '请求日志' }).waitFor()
        expect(await page.evaluate(() => document.documentElement.lang)).toBe('zh-CN')
        await page.keyboard.press('Control+k')
        await page
          .getByRole('dialog')
          .getByRole('combobox')
          .fill(ids[0] ?? '')
        await page.keyboard.press('Enter')
        await page
          .getByRole('complementary')
          .getByText(ids[0] ?? '')
          .waitFor()
      })
    })
  })

  it('runs no script that is not its own file', async () => {
    const { page, context, wrong } = await openPage(browser, gateway.url)
    await page.goto('/console')
    await page.getByLabel('Phone number').waitFor()
    expect(wrong).toEqual([])
    const ran = await page.evaluate(() => {
      const script = document.createElement('script')
      script.textContent = 'window.injected = true'
      document.body.append(script)
      const image = document.createElement('div')
      image.innerHTML = '<img src="x" onerror="window.injected = true">'
      document.body.append(image)
      return 'injected' in window
    })
    expect(ran).toBe(false)
    await expect.poll(() => wrong.filter((one) => one.includes('script-src')).length).toBeGreaterThan(0)
    await context.close()
  })

  describe.each(['light', 'dark'] as const)('in the %s theme', (colorScheme) => {
    itLater('has no serious defect for people who cannot see or point', { timeout: 120_000 }, async () => {
      const { page, context, wrong } = await openPage(browser, gateway.url, { colorScheme })
      await page.goto(`/console/e/${enterpriseId}/keys`)
      await page.getByLabel('Phone number').waitFor()
      await expectAccessible(page, 'log-in')
      await logIn(page, firstAdmin(gateway))
      await row(page, 'CI').waitFor()
      await expectAccessible(page, 'keys')
      await row(page, 'CI').getByRole('link').click()
      await page.getByRole('complementary', { name: 'Key' }).getByText('Settings').waitFor()
      await expectAccessible(page, 'key')
      await page.goto(`/console/e/${enterpriseId}/keys/new`)
      await page.getByRole('dialog').getByRole('button', { name: 'Limits and access' }).click()
      await expectAccessible(page, 'new key')
      await page.goto(`/console/platform/requests/${ids[0] ?? ''}?model=sim-gpt`)
      await page.getByRole('complementary').getByText('Tokens and cost').waitFor()
      await page.locator('[data-id]').first().waitFor()
      await expectAccessible(page, 'request')
      await page.keyboard.press('Control+k')
      await page.getByRole('listbox').waitFor()
      await expectAccessible(page, 'palette')
      expect(wrong).toEqual([])
      await context.close()
    })
  })
})
