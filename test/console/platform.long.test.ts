import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { SluiceClient } from '../../src/client/index.ts'
import { startSimulator } from '../../src/simulator/simulator.ts'
import type { Simulator } from '../../src/simulator/simulator.ts'
import { plantDeadLetter } from '../support/dead-letter.ts'
import { startGateway } from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'
import { UpstreamToolServer } from '../support/upstream-tool-server.ts'
import { expectAccessible } from './accessible.ts'
import { CHROMIUM, NO_CHROMIUM, openBrowser, openPage } from './browser.ts'
import { ask, clientOf, firstAdmin, logIn, newPerson, settled } from './world.ts'

const TITLE = CHROMIUM === null ? `the pages of the platform (${NO_CHROMIUM})` : 'the pages of the platform'
const CREDENTIAL = 'a-credential-that-nobody-may-read-again'

describe.skipIf(CHROMIUM === null)(TITLE, () => {
  let simulator: Simulator
  let gateway: TestGateway
  let tools: UpstreamToolServer
  let browser: Browser
  let admin: SluiceClient
  let page: Page
  let wrong: string[]

  beforeAll(async () => {
    simulator = await startSimulator()
    gateway = await startGateway({
      // Upstreams of admins are at the simulator here.
      config: { management: { private_upstreams: ['127.0.0.0/8'] } },
      upstreams: [{ id: 'filed', dialect: 'openai-chat', baseUrl: `${simulator.origin}/v1`, models: ['of-the-file'] }],
    })
    tools = await UpstreamToolServer.start()
    browser = await openBrowser()
    admin = await clientOf(gateway, firstAdmin(gateway))
    const opened = await openPage(browser, gateway.url)
    page = opened.page
    wrong = opened.wrong
    await page.goto('/console/platform')
    await logIn(page, firstAdmin(gateway))
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
  })

  afterAll(async () => {
    await browser.close()
    await gateway.stop()
    await simulator.close()
    await tools.stop()
  })

  const row = (name: string) => page.getByRole('row').filter({ hasText: name })
  const panel = (name: string) => page.getByRole('complementary', { name })
  const dialog = () => page.getByRole('dialog')
  const nothingWrong = (): void => {
    expect(wrong).toEqual([])
  }

  it('add an upstream with a key, test it, see it take traffic, turn it off and delete it', async () => {
    await page.goto('/console/platform/upstreams')
    await row('filed').getByText('Works').waitFor()
    await page.getByRole('link', { name: 'Add upstream' }).click()
    await dialog().getByLabel('Id', { exact: true }).fill('second')
    await dialog().getByLabel('Address').fill(`${simulator.origin}/v1`)
    await dialog().getByLabel('Protocol').fill('no-such-protocol')
    await dialog().getByLabel('First key').fill(CREDENTIAL)
    await dialog().getByLabel('Models').fill('of-the-console')
    await dialog().getByRole('button', { name: 'Add upstream' }).click()
    // The gateway's own words, at the field.
    await dialog()
      .getByText(/dialect/)
      .waitFor()
    await dialog().getByLabel('Protocol').fill('openai-chat')
    await dialog().getByRole('button', { name: 'Add upstream' }).click()
    await panel('Upstream').getByText('of-the-console').first().waitFor()
    expect(await page.content()).not.toContain(CREDENTIAL)

    const menu = panel('Upstream').getByRole('button', { name: /^Actions for/ })
    await menu.click()
    await page.getByRole('menuitem', { name: 'Test' }).click()
    await dialog().getByRole('button', { name: 'Make the call' }).click()
    await dialog().getByText('It works').waitFor()
    await dialog().getByRole('button', { name: 'Close' }).last().click()

    await panel('Upstream').getByRole('button', { name: 'Add key' }).click()
    await dialog().getByRole('textbox', { name: 'Credential' }).fill(`${CREDENTIAL}-2`)
    await dialog().getByLabel('Name', { exact: true }).fill('spare')
    await dialog().getByLabel('Requests at the same time').fill('7')
    await dialog().getByRole('button', { name: 'Add key' }).click()
    await panel('Upstream').getByText('spare').waitFor()

    await expect.poll(answerStatus).toBe(200)
    const ids = await Promise.all([1, 2, 3].map(() => ask(gateway, gateway.apiKey, { model: 'of-the-console' })))
    await settled(admin, ids)
    await page.reload()
    await expect
      .poll(async () => {
        const texts = await panel('Upstream').locator('[data-key]').allInnerTexts()
        return texts.some((text) => /ok [1-9]/.test(text.replaceAll(/\s+/g, ' ')))
      })
      .toBe(true)

    await panel('Upstream').getByRole('button', { name: 'Turn off', exact: true }).click()
    await row('second').getByText('Off', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Undo' }).click()
    await row('second').getByText('Works').waitFor()
    await panel('Upstream').getByRole('button', { name: 'Delete', exact: true }).click()
    await dialog()
      .getByText(/Requests in the last 7 days: [1-9]/)
      .waitFor()
    await dialog().getByLabel('Type second to confirm').fill('second')
    await dialog().getByRole('button', { name: 'Delete' }).click()
    await row('second').waitFor({ state: 'detached' })
    nothingWrong()
  })

  it('find models without a price and set one: null is not 0', async () => {
    await page.goto('/console/platform/models?prices=unknown')
    await row('of-the-file').getByText('Price unknown').waitFor()
    await row('of-the-file').getByRole('link').click()
    await panel('Model').getByText('The price is not known').first().waitFor()
    await panel('Model').getByLabel('Input').fill('2.5')
    await panel('Model').getByRole('button', { name: 'Save' }).click()
    await panel('Model').getByText('Enter an amount like 2.50; 0 is free.').waitFor()
    await panel('Model').getByLabel('Output').fill('0')
    await panel('Model').getByRole('button', { name: 'Add a tier for long prompts' }).click()
    await panel('Model').getByLabel('Prompts of more tokens than').fill('200000')
    await panel('Model').getByLabel('Input').last().fill('5')
    await panel('Model').getByLabel('Output').last().fill('20')
    await panel('Model').getByRole('button', { name: 'Save' }).click()
    await panel('Model').getByText('Above 200,000 tokens').waitFor()
    await page.goto('/console/platform/models?prices=known')
    await row('of-the-file').getByText('$2.50').first().waitFor()
    await row('of-the-file').getByText('$0.00').waitFor()
    const { prices } = await admin.call('adminGetModel', { params: { id: 'of-the-file' } })
    expect(prices).toMatchObject({ input: 2_500_000, output: 0, long_prompts: [{ above_tokens: 200_000 }] })
    nothingWrong()
  })

  it('add an enterprise and credit its wallet', async () => {
    await page.goto('/console/platform/enterprises')
    await page.getByRole('link', { name: 'Add enterprise' }).first().click()
    await dialog().getByLabel('Name', { exact: true }).fill('Looms')
    await dialog().getByLabel('Platform cap for a month').fill('100')
    await dialog().getByRole('button', { name: 'Add enterprise' }).click()
    await panel('Enterprise').getByTestId('balance').getByText('$0.00').waitFor()
    await panel('Enterprise').getByRole('button', { name: 'Credit or correct' }).click()
    await dialog().getByLabel('Amount').fill('12.50')
    await dialog().getByLabel('Reference').fill('invoice 1')
    await dialog().getByRole('button', { name: 'Credit', exact: true }).click()
    await panel('Enterprise').getByTestId('balance').getByText('$12.50').waitFor()
    await panel('Enterprise').getByText('invoice 1').waitFor()
    const { data } = await admin.call('adminListEnterprises', { query: { search: 'Looms' } })
    const wallet = await admin.call('getWallet', { params: { id: data[0]?.id ?? '' } })
    expect([data[0]?.platform_monthly_budget, wallet.balance]).toEqual([100_000_000, 12_500_000])
    nothingWrong()
  })

  it('disable a user, who is out at once', async () => {
    const person = await newPerson(gateway, 'Ada Lovelace', '+12025550133')
    const theirs = await clientOf(gateway, person)
    await page.goto('/console/platform/users?search=lovelace')
    await row('Ada Lovelace').getByRole('link').click()
    await panel('User').getByRole('button', { name: 'Disable' }).click()
    await dialog()
      .getByText(/Keys: 0/)
      .waitFor()
    await dialog().getByRole('button', { name: 'Disable' }).click()
    await row('Ada Lovelace').getByText('Disabled').waitFor()
    await expect.poll(() => theirs.call('me').then(String, () => 'refused')).toBe('refused')
    await panel('User').getByRole('button', { name: 'Enable' }).click()
    await row('Ada Lovelace').getByText('Active').waitFor()
    nothingWrong()
  })

  it('allow a tool, and see what has changed of it before it is allowed again', async () => {
    tools.tools = [
      {
        name: 'search',
        description: 'Finds pages.',
        inputSchema: {
          type: 'object',
          properties: { query: { type: 'string', description: 'Words' }, most: { type: 'integer' } },
          required: ['query'],
        },
      },
    ]
    for (const name of ['Tools', 'Other']) await admin.call('createKey', { body: { name } })
    await page.goto('/console/platform/tools')
    await page.getByText('No tool servers yet').waitFor()
    await page.getByRole('link', { name: 'Add server' }).first().click()
    await dialog().getByLabel('Id', { exact: true }).fill('pages')
    await dialog().getByLabel('Address').fill(tools.url)
    await dialog().getByRole('textbox', { name: 'Authorization' }).fill(`Bearer ${CREDENTIAL}`)
    await dialog().getByRole('button', { name: 'Add server' }).click()
    const tool = panel('Tool server').locator('[data-tool="search"]')
    await panel('Tool server').getByRole('button', { name: 'Test' }).click()
    await panel('Tool server').getByText('It works').waitFor()
    await panel('Tool server').getByRole('button', { name: 'Read tools again' }).click()
    await tool.getByText('Not allowed').waitFor()
    await tool.getByRole('button', { name: 'Allow search' }).click()
    await tool.getByText('Allowed', { exact: true }).waitFor()
    expect(await page.content()).not.toContain(CREDENTIAL)
    await tool.getByRole('button', { name: 'Try search' }).click()
    await dialog().getByLabel('query').fill('looms')
    await dialog().getByLabel('most').fill('many')
    await dialog().getByRole('button', { name: 'Call the tool' }).click()
    await dialog().getByText('Enter a whole number.').waitFor()
    await dialog().getByLabel('most').fill('7')
    await dialog().getByRole('button', { name: 'Call the tool' }).click()
    await dialog().getByText('Several of your keys could pay').waitFor()
    await dialog().getByLabel('Key that pays').click()
    await page.getByRole('option', { name: 'Tools', exact: true }).click()
    await dialog().getByRole('button', { name: 'Call the tool' }).click()
    await dialog().getByText('search {"query":"looms","most":7}').waitFor()
    await dialog().getByRole('button', { name: 'Close' }).last().click()
    tools.tools = tools.tools.map((one) => ({ ...one, description: 'Deletes pages.' }))
    await panel('Tool server').getByRole('button', { name: 'Read tools again' }).click()
    await tool.getByText('Held: changed').waitFor()
    await page.reload()
    await expect
      .poll(() => tool.locator('[data-kind="removed"]').allInnerTexts())
      .toEqual([expect.stringContaining('Finds pages.')])
    expect(await tool.locator('[data-kind="added"]').allInnerTexts()).toEqual([
      expect.stringContaining('Deletes pages.'),
    ])
    await tool.getByRole('button', { name: 'Allow search' }).click()
    await tool.getByText('Allowed', { exact: true }).waitFor()
    nothingWrong()
  })

  it('tell what admins changed of the platform, with the old and the new values, and what others did when asked', async () => {
    await page.goto('/console/platform/audit')
    await row('Changed a model').first().getByRole('link').click()
    await panel('Audit entry')
      .getByText(/2500000/)
      .first()
      .waitFor()
    await page.getByRole('link', { name: 'Audit log' }).click()
    await page.getByRole('combobox', { name: 'What' }).click()
    await page.getByRole('option', { name: 'Added an enterprise' }).click()
    await expect.poll(() => new URL(page.url()).search).toBe('?operation=adminCreateEnterprise')
    await row('Added an enterprise').first().waitFor()
    await page.getByRole('button', { name: 'Clear filters' }).first().click()
    await page.getByText('By everybody').click()
    await page.getByRole('columnheader', { name: 'Enterprise' }).waitFor()
    await page.getByRole('combobox', { name: 'Enterprise' }).click()
    await page.getByRole('option', { name: 'Looms' }).click()
    await row('Topped up the wallet').getByText('Looms').first().waitFor()
    expect(await row('Changed a model').count()).toBe(0)
    nothingWrong()
  })

  it('set who may use a tool server: by role, enterprise, department and key', async () => {
    const { id: enterpriseId } = await admin.call('adminCreateEnterprise', { body: { name: 'Spinners' } })
    const params = { id: enterpriseId }
    const { id: departmentId } = await admin.call('createDepartment', { params, body: { name: 'Wool' } })
    const { id: keyId } = await admin.call('createEnterpriseKey', { params, body: { name: 'Spindle' } })
    await page.goto('/console/platform/tools/pages')
    const choose = async (rule: string, field: string, option: string): Promise<void> => {
      await panel('Tool server').getByRole('group', { name: rule }).getByRole('combobox', { name: field }).click()
      await page.getByRole('option', { name: option }).click()
    }
    await panel('Tool server').getByText('By rules').click()
    await panel('Tool server').getByRole('button', { name: 'Save' }).click()
    await panel('Tool server').getByText('Choose a role, an enterprise, a department or a key.').waitFor()
    await choose('Rule 1', 'Enterprise', 'Spinners')
    await choose('Rule 1', 'Department', 'Wool')
    await choose('Rule 1', 'Role', 'Finance')
    await panel('Tool server').getByRole('button', { name: 'Add rule' }).click()
    await choose('Rule 2', 'Enterprise', 'Spinners')
    await choose('Rule 2', 'Key', 'Spindle')
    await expectAccessible(page, 'rules of a tool server')
    await panel('Tool server').getByRole('button', { name: 'Save' }).click()
    await panel('Tool server').getByText('Finance · Enterprise Spinners').waitFor()
    const stored = async () => (await admin.call('adminGetToolServer', { params: { id: 'pages' } })).access
    expect(await stored()).toEqual([
      { role: 'finance', enterprise_id: enterpriseId, department_id: departmentId },
      { enterprise_id: enterpriseId, key_id: keyId },
    ])
    await panel('Tool server').getByRole('button', { name: 'Remove rule 1' }).click()
    await panel('Tool server').getByRole('button', { name: 'Save' }).click()
    await expect.poll(stored).toEqual([{ enterprise_id: enterpriseId, key_id: keyId }])
    await panel('Tool server').getByRole('button', { name: 'Save' }).waitFor({ state: 'hidden' })
    await panel('Tool server').getByText('Everybody', { exact: true }).click()
    await panel('Tool server').getByRole('button', { name: 'Save' }).click()
    await expect.poll(stored).toEqual([{ everyone: true }])
    nothingWrong()
  })

  it('retry and discard dead letters, and tell why one cannot be settled', async () => {
    plantDeadLetter(gateway.dataDir, 'front9-gone')
    const count = async () => (await admin.call('adminJournal')).dead_letters
    await expect.poll(count, { timeout: 40_000 }).toBe(1)
    await page.goto('/console/platform/relay?tab=journal')
    await row('front9-gone').getByRole('button', { name: 'Retry' }).click()
    await page
      .getByRole('alert')
      .getByText(/not a record/)
      .waitFor()
    await expectAccessible(page, 'a dead letter')
    await row('front9-gone').getByRole('button', { name: 'Discard' }).click()
    await dialog().getByText('The record is deleted for good').waitFor()
    await expectAccessible(page, 'discarding a dead letter')
    await dialog().getByRole('button', { name: 'Cancel' }).click()
    expect(await count()).toBe(1)
    await row('front9-gone').getByRole('button', { name: 'Discard' }).click()
    await dialog().getByRole('button', { name: 'Discard' }).click()
    await page.getByText('No dead letters').waitFor()
    expect(await count()).toBe(0)
    nothingWrong()
  })

  it('show each setting with its source, and no secret', async () => {
    await page.goto('/console/platform/system?tab=settings')
    const setting = (name: string) => page.locator(`[data-setting="${name}"]`)
    await setting('log.retention_days').getByText('Default').waitFor()
    await setting('log.retention_days').getByText('90').waitFor()
    await setting('management.private_upstreams').getByText('127.0.0.0/8').waitFor()
    await setting('mcp.servers').getByRole('link', { name: '1 more stored by admins' }).waitFor()
    await page.getByText('Not the default').click()
    await setting('log.retention_days').waitFor({ state: 'detached' })
    await setting('management.private_upstreams').getByText('Configuration file').waitFor()
    await page.getByRole('textbox', { name: 'Name of a setting' }).fill('nothing like it')
    await page.getByText('No settings match').waitFor()
    nothingWrong()
  })

  it('show the load, the journal and the health', async () => {
    // The address of a page that the overview has taken in.
    await page.goto('/console/platform/dashboard?range=7d')
    await expect.poll(() => page.url()).toMatch(/\/console\/platform\/overview\?range=7d$/)
    await page.getByText('Requests, last minute').waitFor()
    await page.getByRole('link', { name: 'By enterprise' }).waitFor()
    await page.goto('/console/platform/relay')
    await page.getByText('The gateway itself').waitFor()
    await page.getByText('Journal', { exact: true }).click()
    await page.getByText('No dead letters').waitFor()
    expect(new URL(page.url()).search).toBe('?tab=journal')
    await page.goto('/console/platform/system')
    await page.getByText('Healthy').waitFor()
    await page.getByText(process.versions.node).waitFor()
    nothingWrong()
  })

  async function answerStatus(): Promise<number> {
    const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'of-the-console', messages: [{ role: 'user', content: 'Say hello' }] }),
    })
    await answer.text()
    return answer.status
  }
})
