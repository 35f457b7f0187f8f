import { writeFileSync } from 'node:fs'
import type { Browser, Page } from 'playwright-core'
import { expect } from 'vitest'
import type { TestGateway } from '../support/gateway.ts'
import { openPage, settledPage } from './browser.ts'
import { charts } from './figure-shots.ts'
import type { Filled } from './filled.ts'
import { firstAdmin, logIn } from './world.ts'

const FOLDER = 'docs/images'
const SIZE = { width: 1200, height: 720 }
const MAX_BYTES = 60_000
const QUALITIES = [0.9, 0.8, 0.7, 0.6, 0.5] as const

/** The pictures of the README: small files, in WebP. */
export async function shootReadme(browser: Browser, gateway: TestGateway, filled: Filled): Promise<void> {
  const base = `/console/e/${filled.enterpriseId}`
  const pictures: ReadonlyArray<readonly [name: string, path: string, ready: (page: Page) => Promise<void>]> = [
    ['overview', `${base}/overview`, charts],
    ['key', `${base}/keys/${filled.keyId}`, settledPage],
    ['request', `${base}/requests/${filled.requestId}`, settledPage],
  ]
  const { page, context, wrong } = await openPage(browser, gateway.url, { viewport: SIZE, colorScheme: 'light' })
  await page.goto('/console/keys')
  await logIn(page, firstAdmin(gateway))
  await page.getByRole('heading', { level: 1 }).and(page.getByText('API keys')).waitFor()
  const blank = await browser.newPage()
  for (const [name, path, ready] of pictures) {
    await page.goto(path)
    await ready(page)
    await page.evaluate(() => Promise.all(document.getAnimations().map((one) => one.finished.catch(() => undefined))))
    writeFileSync(`${FOLDER}/console-${name}.webp`, await asWebp(blank, await page.screenshot()))
  }
  await blank.close()
  expect(wrong).toEqual([])
  await context.close()
}

/** The best quality that is small enough. Chromium has the encoder. */
async function asWebp(page: Page, png: Buffer): Promise<Buffer> {
  for (const quality of QUALITIES) {
    const encoded = await page.evaluate(
      async ([source, wanted]) => {
        const image = new Image()
        image.src = `data:image/png;base64,${source}`
        await image.decode()
        const canvas = document.createElement('canvas')
        canvas.width = image.width
        canvas.height = image.height
        canvas.getContext('2d')?.drawImage(image, 0, 0)
        return canvas.toDataURL('image/webp', wanted).split(',')[1] ?? ''
      },
      [png.toString('base64'), quality] as const,
    )
    const picture = Buffer.from(encoded, 'base64')
    if (picture.length <= MAX_BYTES) return picture
  }
  throw new Error(`A picture of the README is larger than ${MAX_BYTES} bytes in the lowest quality.`)
}
