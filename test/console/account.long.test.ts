import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startGateway } from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'
import { MailServer } from '../support/mail-server.ts'
import { codeOf } from '../support/one-time-passwords.ts'
import { expectAccessible } from './accessible.ts'
import { CHROMIUM, NO_CHROMIUM, openBrowser, openPage } from './browser.ts'
import type { WatchedPage } from './browser.ts'
import { clientOf, firstAdmin, logIn, newPerson } from './world.ts'
import type { Person } from './world.ts'

/** Browsers reach the gateway elsewhere in the tests: of the links, only what follows it is used. */
const CONSOLE_URL = 'https://ai.example.com/console'
const NEW_PASSWORD = 'another long password'
const TITLE = CHROMIUM === null ? `accounts in the console (${NO_CHROMIUM})` : 'accounts in the console'

describe.skipIf(CHROMIUM === null)(TITLE, () => {
  let mails: MailServer
  let gateway: TestGateway
  let browser: Browser

  beforeAll(async () => {
    mails = await MailServer.start()
    gateway = await startGateway({
      config: {
        auth: { console_url: CONSOLE_URL, registration: 'open' },
        mail: mails.config,
        money: { currency: 'EUR' },
      },
    })
    browser = await openBrowser()
  })

  afterAll(async () => {
    await browser.close()
    await gateway.stop()
    await mails.stop()
  })

  /** A page of somebody who is not logged in. Nothing may go wrong on it. */
  async function opened(path: string, run: (page: Page, watched: WatchedPage) => Promise<void>): Promise<void> {
    const watched = await openPage(browser, gateway.url)
    await watched.page.goto(path)
    await run(watched.page, watched)
    expect(watched.wrong).toEqual([])
    await watched.context.close()
  }

  /** The path below the console that the last e-mail to an address leads to. */
  async function linkTo(address: string, count = 1): Promise<string> {
    await mails.tokenTo(address, count)
    const { body } = mails.received.filter(({ to }) => to.includes(address))[count - 1] ?? { body: '' }
    const link = /https:\S+/.exec(body)?.[0] ?? ''
    expect(link.startsWith(`${CONSOLE_URL}/`)).toBe(true)
    return link.slice(new URL(CONSOLE_URL).origin.length)
  }

  /** Enters an address and opens the link of its e-mail, as the same person. */
  async function verifyEmail(page: Page, person: Person, email: string): Promise<void> {
    await page.goto('/console/account')
    await page.getByRole('button', { name: 'Set an address' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('New e-mail address').fill(email)
    await dialog.getByLabel('Password', { exact: true }).fill('not the password')
    await dialog.getByRole('button', { name: 'Mail the link' }).click()
    await dialog.getByText('The password is wrong').waitFor()
    await dialog.getByLabel('Password', { exact: true }).fill(person.password)
    await dialog.getByRole('button', { name: 'Mail the link' }).click()
    await page.getByText('replaces it as soon as you open the link').waitFor()
    await page.goto(await linkTo(email))
    await page.getByRole('button', { name: 'Verify the address' }).click()
    await page.getByText('Verified', { exact: true }).waitFor()
    await page.waitForURL(`${gateway.url}/console/account`)
  }

  it('verify an e-mail address, and get a new password by it', async () => {
    const person = await newPerson(gateway, 'Ada Lovelace', '+12025550121')
    await opened('/console/account', async (page) => {
      await logIn(page, person)
      await page.getByRole('heading', { name: 'Account' }).waitFor()
      await verifyEmail(page, person, 'ada@example.com')
    })
    await opened('/console/account', async (page) => {
      await page.getByRole('link', { name: 'Forgotten password' }).click()
      await expectAccessible(page, 'forgotten password')
      await page.getByLabel('Phone number or e-mail address').fill('ada@example.com')
      await page.getByRole('button', { name: 'Mail the link' }).click()
      await page.getByText('the link is on its way').waitFor()
      await page.goto(await linkTo('ada@example.com', 2))
      await page.getByLabel('New password').fill('qwertyuiop')
      await page.getByRole('button', { name: 'Set the password' }).click()
      // The gateway's own words, at the field.
      await page.getByText('one of the most common passwords').waitFor()
      await expectAccessible(page, 'new password')
      await page.getByLabel('New password').fill(NEW_PASSWORD)
      await page.getByRole('button', { name: 'Set the password' }).click()
      await page.getByText('all sessions have ended').waitFor()
      await page.waitForURL(({ hash }) => hash === '')
      await page.getByRole('button', { name: 'Log in' }).click()
      await logIn(page, { ...person, password: NEW_PASSWORD })
      await page.getByRole('heading', { name: 'First steps' }).waitFor()
    })
  })

  it('are made where everybody may, and by an invitation, which is accepted with that', async () => {
    await opened('/console/keys', async (page) => {
      await page.getByRole('link', { name: 'Make an account' }).click()
      await page.getByLabel('Name').fill('Grace Hopper')
      await page.getByLabel('Phone number').fill('+12025550122')
      await page.getByLabel('New password').fill(NEW_PASSWORD)
      await page.getByRole('button', { name: 'Make the account' }).click()
      await page.getByRole('button', { name: /^Grace Hopper/ }).waitFor()
    })
    const admin = await clientOf(gateway, firstAdmin(gateway))
    const { id } = await admin.call('adminCreateEnterprise', { body: { name: 'Engines' } })
    const params = { id }
    await admin.call('invite', { params, body: { email: 'new@example.com', role: 'admin' } })
    await opened(await linkTo('new@example.com'), async (page) => {
      await page.getByRole('link', { name: 'Make an account' }).click()
      await page.getByText('becomes a member of the enterprise').waitFor()
      await page.getByLabel('Name').fill('New Member')
      await page.getByLabel('Phone number').fill('+12025550123')
      await page.getByLabel('New password').fill(NEW_PASSWORD)
      await page.getByRole('button', { name: 'Make the account' }).click()
      await page.getByRole('button', { name: /^New Member/ }).waitFor()
      await page.goto('/console/account')
      await page.getByText('Engines (Admin)').waitFor()
      // The currency of the installation.
      await page.goto(`/console/e/${id}/keys/new`)
      await page.getByRole('dialog').getByText('€').waitFor()
    })
    const known = await newPerson(gateway, 'Known User', '+12025550124')
    const { token } = await admin.call('invite', { params, body: { phone: known.phone, role: 'finance' } })
    await opened(`/console/invitation#token=${token}`, async (page) => {
      await logIn(page, known)
      await page.getByRole('button', { name: 'Accept the invitation' }).click()
      await page.getByText('You are a member of Engines now, as Finance.').waitFor()
      await page.waitForURL(({ hash }) => hash === '')
      await page.getByRole('link', { name: 'Open Engines' }).click()
      await page.getByRole('heading', { level: 1 }).waitFor()
      await page.waitForURL(({ pathname }) => pathname.startsWith(`/console/e/${id}/`))
    })
  })

  it('have one-time passwords with recovery codes, and sessions that can be ended', async () => {
    const person = await newPerson(gateway, 'Katherine Johnson', '+12025550125')
    const other = await clientOf(gateway, person)
    await opened('/console/account', async (page) => {
      await logIn(page, person)
      await page.getByRole('button', { name: 'Set up' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Password', { exact: true }).fill(person.password)
      await dialog.getByRole('button', { name: 'Continue' }).click()
      await dialog.getByRole('img', { name: 'QR code of the secret' }).waitFor()
      await expectAccessible(page, 'one-time passwords')
      const secret = (await dialog.getByTestId('totp-secret').textContent()) ?? ''
      await dialog.getByLabel('Code of the authenticator').fill('000000')
      await dialog.getByRole('button', { name: 'Turn on' }).click()
      await dialog.getByText('The code is wrong').waitFor()
      await dialog.getByLabel('Code of the authenticator').fill(codeOf(secret))
      await dialog.getByRole('button', { name: 'Turn on' }).click()
      const codes = dialog.getByRole('list', { name: 'Recovery codes' }).getByRole('listitem')
      await codes.first().waitFor()
      const recovery = (await codes.first().textContent()) ?? ''
      await dialog.getByRole('button', { name: 'I have kept the codes' }).click()
      await page.getByText('Log-ins need a code of your authenticator').waitFor()
      expect(await page.content()).not.toContain(recovery)

      // Of the client above, and of this page.
      await page.getByText('This session').waitFor()
      await page.getByRole('button', { name: /^End the session of/ }).click()
      await page.getByText('The session has ended').waitFor()
      await expect.poll(() => page.getByRole('button', { name: /^End the session of/ }).count()).toBe(0)
      await expect(other.call('me')).rejects.toMatchObject({ statusCode: 401 })

      await page.getByRole('button', { name: 'Turn off' }).click()
      await dialog.getByLabel('Password', { exact: true }).fill(person.password)
      await dialog.getByLabel('Code, or a recovery code').fill(recovery)
      await dialog.getByRole('button', { name: 'Turn off' }).click()
      await page.getByText('One-time passwords are off').waitFor()

      await page.getByRole('button', { name: 'Change password' }).click()
      await dialog.getByLabel('Present password').fill(person.password)
      await dialog.getByLabel('New password').fill(NEW_PASSWORD)
      await dialog.getByRole('button', { name: 'Change password' }).click()
      await page.getByText('The password is changed').waitFor()
      await page.reload()
      await page.getByRole('heading', { name: 'Account' }).waitFor()
      await expectAccessible(page, 'account')
    })
  })
})
