import type { Page } from 'playwright-core'
import type { TestGateway } from '../support/gateway.ts'
import type { Filled } from './filled.ts'
import type { Shot } from './shot.ts'
import { ask } from './world.ts'

/** Both charts and the list of the newest requests are drawn. */
export const charts = async (page: Page): Promise<void> => {
  await page.locator('.uplot').first().waitFor()
  await page.getByTestId('latest').getByRole('link').first().waitFor()
}

/** Figures, money, and ways to try models. */
export function figureShots(gateway: () => TestGateway, filled: () => Filled): readonly Shot[] {
  return [
    { name: 'overview', path: () => `/console/e/${filled().enterpriseId}/overview`, ready: charts },
    { name: 'overview-platform', path: () => '/console/platform/overview?range=7d', ready: charts },
    {
      name: 'overview-empty',
      path: () => '/console/overview',
      who: 'empty',
      ready: async (page) => {
        await page.getByRole('heading', { name: 'First steps' }).waitFor()
        await page.getByRole('button', { name: 'Skip' }).click()
        await page.getByText('No requests in 24 hours').waitFor()
      },
    },
    {
      name: 'first-steps',
      path: () => '/console/first-steps',
      who: 'empty',
      ready: (page) => page.getByRole('heading', { name: 'See it arrive' }).waitFor(),
    },
    {
      name: 'first-steps-refused',
      path: () => `/console/first-steps`,
      ready: async (page) => {
        await page.getByRole('button', { name: 'Create key' }).click()
        const key = (await page.getByTestId('new-key').textContent()) ?? ''
        await ask(gateway(), key, { model: 'no-such-model' })
        await page.getByText('MODEL_NOT_FOUND').waitFor()
      },
    },
    { name: 'statistics', path: () => `/console/e/${filled().enterpriseId}/statistics?sub=key&range=24h` },
    { name: 'statistics-platform', path: () => '/console/platform/statistics?metric=total&group=model' },
    { name: 'statistics-empty', path: () => '/console/statistics', who: 'empty' },
    { name: 'wallet', path: () => `/console/e/${filled().enterpriseId}/wallet` },
    {
      name: 'wallet-topup',
      path: () => `/console/e/${filled().enterpriseId}/wallet`,
      act: (page) => page.getByRole('button', { name: 'Top up' }).click(),
    },
    { name: 'wallet-empty', path: () => `/console/e/${filled().newEnterpriseId}/wallet` },
    { name: 'playground-empty', path: () => `/console/e/${filled().enterpriseId}/playground` },
    {
      name: 'playground',
      path: () => `/console/e/${filled().enterpriseId}/playground?model=sim-gpt&with=sim-claude`,
      act: async (page) => {
        await page.getByRole('button', { name: 'Make a key for this page' }).click()
        await page.getByTestId('playground-key').waitFor()
        await page.getByRole('textbox', { name: 'Your message' }).fill('Why is the sky blue?')
        await page.keyboard.press('Control+Enter')
        for (const model of ['sim-gpt', 'sim-claude']) {
          await page.getByRole('region', { name: model }).getByText('Cost').waitFor()
        }
        await page.getByRole('link', { name: 'Request', exact: true }).nth(1).waitFor()
      },
    },
  ]
}
