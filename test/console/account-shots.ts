import type { TestGateway } from '../support/gateway.ts'
import type { Shot } from './shot.ts'
import { firstAdmin } from './world.ts'

/** Pages of visitors, and of a person. */
export function accountShots(gateway: () => TestGateway): readonly Shot[] {
  return [
    { name: 'forgot-password', path: () => '/console/forgot-password', who: 'visitor' },
    { name: 'reset-password', path: () => '/console/reset-password#token=t', who: 'visitor' },
    { name: 'register', path: () => '/console/register#token=t', who: 'visitor' },
    { name: 'login-invited', path: () => '/console/invitation#token=t', who: 'visitor' },
    { name: 'account', path: () => '/console/account' },
    {
      name: 'account-totp',
      path: () => '/console/account',
      act: async (page) => {
        await page.getByRole('button', { name: 'Set up' }).click()
        await page.getByRole('dialog').getByLabel('Password', { exact: true }).fill(firstAdmin(gateway()).password)
        await page.getByRole('button', { name: 'Continue' }).click()
        await page.getByTestId('totp-secret').waitFor()
      },
    },
    { name: 'invitation', path: () => '/console/invitation' },
    { name: 'verify-email', path: () => '/console/verify-email#token=t' },
    { name: 'join', path: () => '/console/join', who: 'empty' },
  ]
}
