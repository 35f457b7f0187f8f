import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'

export { CHROMIUM, NO_CHROMIUM, openBrowser } from '../support/chromium.ts'

/** A page and all that it did wrong: errors on the console, violations of the policy, requests to elsewhere. */
export interface WatchedPage {
  readonly page: Page
  readonly context: BrowserContext
  readonly wrong: string[]
}

/** Chromium reports each failed request on the console, also those that a test provokes. */
const OF_ANSWERS = /^Failed to load resource: the server responded with a status of/

export async function openPage(
  browser: Browser,
  origin: string,
  options: BrowserContextOptions = {},
): Promise<WatchedPage> {
  const context = await browser.newContext({
    baseURL: origin,
    viewport: { width: 1280, height: 800 },
    locale: 'en-GB',
    ...options,
  })
  const wrong: string[] = []
  context.on('request', (request) => {
    const url = request.url()
    if (!url.startsWith(`${origin}/`) && !/^(blob|data):/.test(url)) wrong.push(`request to ${url}`)
  })
  const page = await context.newPage()
  page.on('console', (message) => {
    if (message.type() !== 'error' && message.type() !== 'warning') return
    if (!OF_ANSWERS.test(message.text())) wrong.push(`${message.type()}: ${message.text()}`)
  })
  page.on('pageerror', (error) => wrong.push(`exception: ${error.message}`))
  await page.addInitScript(() => {
    addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) => {
      console.error(`policy: ${violatedDirective} ${blockedURI}`)
    })
  })
  return { page, context, wrong }
}

const QUIET_MS = 2_000

/** Waits until the page has a heading and nothing loads, however slow the machine is, and then for what it draws afterwards. */
export async function settledPage(page: Page): Promise<void> {
  await page.getByRole('heading').first().waitFor()
  await page
    .getByRole('status', { name: /^(Loading|加载中)/ })
    .first()
    .waitFor({ state: 'detached' })
  // A page with a live stream is never idle.
  await page.waitForLoadState('networkidle', { timeout: QUIET_MS }).catch(() => undefined)
}
