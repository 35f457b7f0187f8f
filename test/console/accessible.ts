import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { settledPage } from './browser.ts'

/** No serious defect for people who cannot see or point. Pages with a live stream are never idle: they are waited for by their content. */
export async function expectAccessible(page: Page, what: string): Promise<void> {
  await settledPage(page)
  // Half-transparent things have other colours.
  await page.evaluate(() => Promise.all(document.getAnimations().map((one) => one.finished.catch(() => undefined))))
  await page.evaluate(axe.source)
  const { violations } = await page.evaluate(() =>
    (window as unknown as { axe: typeof axe }).axe.run(document, { resultTypes: ['violations'] }),
  )
  const serious = violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(
      ({ id, nodes }) =>
        `${id}: ${nodes.map(({ html, failureSummary }) => `${html}\n${failureSummary ?? ''}`).join('\n')}`,
    )
  expect(serious, what).toEqual([])
}
