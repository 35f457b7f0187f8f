import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startGateway } from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'
import { expectAccessible } from './accessible.ts'
import { CHROMIUM, NO_CHROMIUM, openBrowser, openPage } from './browser.ts'
import { clientOf, firstAdmin, logIn, newPerson } from './world.ts'
import type { Person } from './world.ts'

const TITLE = CHROMIUM === null ? `members (${NO_CHROMIUM})` : 'members'

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
    await admin.call('createDepartment', { params: { id }, body: { name: 'Research' } })
  })

  afterAll(async () => {
    await browser.close()
    await gateway.stop()
  })

  /** A page of somebody who is logged in. Nothing may go wrong on it. */
  async function opened(path: string, person: Person, run: (page: Page) => Promise<void>): Promise<void> {
    const { page, context, wrong } = await openPage(browser, gateway.url)
    await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.goto(path)
    await logIn(page, person)
    await run(page)
    expect(wrong).toEqual([])
    await context.close()
  }

  const row = (page: Page, name: string) => page.getByRole('row').filter({ hasText: name })
  const choose = async (page: Page, label: string, option: string | RegExp): Promise<void> => {
    await page.getByRole('combobox', { name: label }).click()
    await page.getByRole('option', { name: option }).click()
  }

  it('are invited, accept by the link, change roles with a way back, and are removed with their keys named', async () => {
    const ada = await newPerson(gateway, 'Ada Lovelace', '+12025550131')
    let link = ''
    await opened(`/console/e/${enterpriseId}/members`, firstAdmin(gateway), async (page) => {
      await page.getByText('You are alone here').waitFor()
      await page.getByRole('link', { name: 'Invite' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByRole('button', { name: 'Invite' }).click()
      await dialog.getByText('Enter at least one address.').waitFor()
      await dialog
        .getByRole('combobox', { name: 'E-mail addresses or phone numbers' })
        .fill(`${ada.phone}, not-a-number, bob@example.com `)
      await choose(page, 'Role', /Finance/)
      await choose(page, 'Department', 'Research')
      await dialog.getByRole('button', { name: 'Invite' }).click()
      // The one that failed stays, with the reason; the others are invited.
      await dialog.getByRole('listitem').filter({ hasText: 'bob@example.com' }).waitFor()
      expect(await dialog.locator('.mantine-Pill-label').allTextContents()).toEqual(['not-a-number'])
      await dialog.locator('.mantine-Pill-remove').click()
      await expectAccessible(page, 'invite')
      await dialog.getByRole('listitem').filter({ hasText: ada.phone }).getByRole('button').click()
      await dialog.getByText('Copied').waitFor()
      link = await page.evaluate(() => navigator.clipboard.readText())
      await dialog.getByRole('button', { name: 'Done' }).click()
      await row(page, 'bob@example.com').getByText('Invited').waitFor()
      // The token is nowhere any more.
      const token = link.split('token=')[1] ?? 'none'
      expect(await page.evaluate(() => document.documentElement.outerHTML + location.href)).not.toContain(token)
    })
    await opened(new URL(link).pathname + new URL(link).hash, ada, async (page) => {
      await page.getByRole('button', { name: 'Accept the invitation' }).click()
      await page.getByRole('link', { name: 'Open Engines' }).click()
      await page.getByText('Engines').first().waitFor()
    })
    const admin = await clientOf(gateway, firstAdmin(gateway))
    const { data } = await admin.call('listMembers', { params: { id: enterpriseId }, query: { search: 'Ada' } })
    const memberId = data[0]?.id ?? ''
    expect(data).toMatchObject([{ role: 'finance' }])
    await admin.call('createEnterpriseKey', {
      params: { id: enterpriseId },
      body: { name: 'Notebook', member_id: memberId },
    })
    await opened(`/console/e/${enterpriseId}/members?search=lovelace`, firstAdmin(gateway), async (page) => {
      await row(page, 'Ada Lovelace').getByRole('link').click()
      const panel = page.getByRole('complementary', { name: 'Member' })
      await panel.getByRole('link', { name: 'Notebook' }).waitFor()
      await choose(page, 'Role', /Admin/)
      await panel.getByLabel('Monthly budget').fill('12.50')
      await expectAccessible(page, 'member')
      await panel.getByRole('button', { name: 'Save' }).click()
      await row(page, 'Ada Lovelace').getByText('Admin').waitFor()
      await row(page, 'Ada Lovelace').getByText('/ $12.50').waitFor()
      await page.getByRole('button', { name: 'Undo' }).click()
      await row(page, 'Ada Lovelace').getByText('Finance').waitFor()
      await panel.getByRole('button', { name: 'Turn off' }).click()
      await row(page, 'Ada Lovelace').getByText('Off', { exact: true }).waitFor()
      await page.getByRole('button', { name: 'Undo' }).click()
      await row(page, 'Ada Lovelace').getByText('Active').waitFor()
      await panel.getByRole('button', { name: 'Remove' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByRole('link', { name: 'Notebook' }).waitFor()
      await dialog.getByRole('button', { name: 'Remove' }).click()
      await page.getByText('No members match').waitFor()
    })
    const keys = await admin.call('listEnterpriseKeys', { params: { id: enterpriseId }, query: { search: 'Notebook' } })
    expect(keys.data).toMatchObject([{ enabled: false }])
  })

  it('are invited again with a new link, and not after the invitation is revoked', async () => {
    await opened(`/console/e/${enterpriseId}/members`, firstAdmin(gateway), async (page) => {
      await page.getByRole('link', { name: 'Invite' }).click()
      await page.getByRole('combobox', { name: 'E-mail addresses or phone numbers' }).fill('eve@example.com ')
      await page.getByRole('dialog').getByRole('button', { name: 'Invite' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Done' }).click()
      await row(page, 'eve@example.com').getByRole('link').click()
      const panel = page.getByRole('complementary', { name: 'Invitation' })
      await panel.getByRole('button', { name: 'Send again' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Copy link' }).waitFor()
      await page.getByRole('dialog').getByRole('button', { name: 'Done' }).click()
      await panel.getByRole('button', { name: 'Revoke' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
      await row(page, 'eve@example.com').waitFor({ state: 'detached' })
    })
  })

  it('ask to join: the navigation counts them, and they read the answer', async () => {
    const grace = await newPerson(gateway, 'Grace Hopper', '+12025550132')
    const alan = await newPerson(gateway, 'Alan Turing', '+12025550133')
    for (const [person, message] of [
      [grace, 'I work in research.'],
      [alan, 'Let me in.'],
    ] as const) {
      await opened('/console/join', person, async (page) => {
        await page.getByText('No requests yet').waitFor()
        await page.getByLabel('Phone number of its owner').fill(firstAdmin(gateway).phone)
        await page.getByRole('button', { name: 'Find' }).click()
        await page.getByLabel('Message').fill(message)
        await page.getByRole('button', { name: 'Ask to join' }).click()
        await row(page, 'Engines').getByText('Waiting').waitFor()
        if (person === alan) return
        // It may be taken back, and asked again.
        await page.getByRole('button', { name: 'Withdraw the request to Engines' }).click()
        await row(page, 'Engines').getByText('Withdrawn').waitFor()
        await page.getByLabel('Phone number of its owner').fill(firstAdmin(gateway).phone)
        await page.getByRole('button', { name: 'Find' }).click()
        await page.getByLabel('Message').fill(message)
        await page.getByRole('button', { name: 'Ask to join' }).click()
        await row(page, 'Engines').getByText('Waiting').waitFor()
        await expectAccessible(page, 'join')
      })
    }
    await opened(`/console/e/${enterpriseId}/members`, firstAdmin(gateway), async (page) => {
      await page
        .getByRole('navigation', { name: 'Navigation' })
        .getByRole('link', { name: /^Join requests.*2 wait$/ })
        .click()
      await row(page, 'Grace Hopper').getByText('I work in research.').waitFor()
      await expectAccessible(page, 'join requests')
      await page.getByRole('button', { name: 'Approve Grace Hopper' }).click()
      await choose(page, 'Role', /Admin/)
      await choose(page, 'Department', 'Research')
      await page.getByRole('dialog').getByRole('button', { name: 'Approve' }).click()
      await row(page, 'Grace Hopper').waitFor({ state: 'detached' })
      await page.getByRole('button', { name: 'Reject Alan Turing' }).click()
      await page.getByLabel('Reason').fill('We do not know you.')
      await page.getByRole('dialog').getByRole('button', { name: 'Reject' }).click()
      await page.getByText('Nobody waits for an answer').waitFor()
      await page.getByText('Rejected', { exact: true }).click()
      await row(page, 'Alan Turing').waitFor()
      await page.waitForURL(({ search }) => search === '?state=rejected')
    })
    await opened('/console/join', alan, async (page) => {
      await row(page, 'Engines').getByText('We do not know you.').waitFor()
    })
    await opened('/console/join', grace, async (page) => {
      await row(page, 'Engines').getByText('Approved').waitFor()
      await page.goto(`/console/e/${enterpriseId}/members`)
      await row(page, 'Grace Hopper').getByText('Admin').waitFor()
    })
  })
})
