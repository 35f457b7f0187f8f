import type { Filled } from './filled.ts'
import type { Shot } from './shot.ts'

/** Keys, requests, and what is on every page. */
export function keyShots(filled: () => Filled): readonly Shot[] {
  return [
    {
      name: 'key-new-unfolded',
      path: () => `/console/e/${filled().enterpriseId}/keys/new`,
      act: async (page) => {
        const dialog = page.getByRole('dialog')
        await dialog.getByRole('button', { name: 'Limits and access' }).click()
        await dialog.getByRole('button', { name: 'Add a budget' }).click()
        await dialog.getByRole('combobox', { name: 'Bodies of requests and answers' }).click()
        await page.getByRole('option', { name: 'Kept', exact: true }).click()
        await dialog.getByLabel('Patterns to redact').scrollIntoViewIfNeeded()
      },
    },
    {
      name: 'request-bodies',
      path: () => `/console/e/${filled().enterpriseId}/requests/${filled().capturedId}`,
      act: async (page) => {
        await page.getByRole('button', { name: 'Show the bodies' }).click()
        await page.getByRole('button', { name: 'Download: Answer' }).scrollIntoViewIfNeeded()
      },
    },
    { name: 'keys', path: () => `/console/e/${filled().enterpriseId}/keys` },
    { name: 'keys-own', path: () => '/console/keys' },
    { name: 'keys-empty', path: () => '/console/keys', who: 'empty' },
    { name: 'keys-no-match', path: () => '/console/keys?search=nothing' },
    { name: 'key', path: () => `/console/e/${filled().enterpriseId}/keys/${filled().keyId}` },
    { name: 'key-new', path: () => `/console/e/${filled().enterpriseId}/keys/new` },
    {
      name: 'key-shown-once',
      path: () => `/console/e/${filled().enterpriseId}/keys/new`,
      act: async (page) => {
        await page.getByLabel('Name', { exact: true }).fill('A new one')
        await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click()
        await page.getByTestId('new-key').waitFor()
      },
    },
    {
      name: 'key-delete',
      path: () => `/console/e/${filled().enterpriseId}/keys/${filled().keyId}`,
      act: async (page) => {
        await page.getByRole('button', { name: 'Delete', exact: true }).click()
        await page.getByText('in the last 7 days').waitFor()
      },
    },
    { name: 'requests', path: () => `/console/e/${filled().enterpriseId}/requests` },
    { name: 'requests-platform', path: () => '/console/platform/requests' },
    {
      name: 'requests-filtered',
      path: () => `/console/e/${filled().enterpriseId}/requests?status=404&tag=team%3Ared&range=7d`,
    },
    { name: 'requests-empty', path: () => '/console/requests', who: 'empty' },
    { name: 'request', path: () => `/console/platform/requests/${filled().requestId}` },
    { name: 'request-failed', path: () => `/console/e/${filled().enterpriseId}/requests/${filled().failedId}` },
    { name: 'request-unknown', path: () => '/console/requests/req_doesnotexist', onDesktopOnly: true },
    { name: 'not-found', path: () => '/console/nothing/here', onDesktopOnly: true },
    {
      name: 'palette',
      path: () => `/console/e/${filled().enterpriseId}/keys`,
      act: async (page) => {
        await page.keyboard.press('Control+k')
        await page.getByRole('listbox').waitFor()
      },
    },
    {
      name: 'help',
      path: () => `/console/e/${filled().enterpriseId}/requests`,
      onDesktopOnly: true,
      act: async (page) => {
        await page.keyboard.press('?')
        await page.getByRole('dialog').waitFor()
      },
    },
  ]
}
