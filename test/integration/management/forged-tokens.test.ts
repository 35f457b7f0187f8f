import { afterAll, beforeAll, expect, it } from 'vitest'
import { loadOrCreateSecrets } from '../../../src/shared/config/secrets.ts'
import { forgedTokens, readToken, signed } from '../../support/forged-tokens.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { ManagementClient } from '../../support/management-client.ts'

let gateway: TestGateway
let admin: ManagementClient

beforeAll(async () => {
  gateway = await startGateway()
  admin = await ManagementClient.ofAdmin(gateway)
})

afterAll(async () => {
  await gateway.stop()
})

it('takes no forged token, and says the same of all', { timeout: 120_000 }, async () => {
  const [key] = loadOrCreateSecrets(gateway.dataDir).jwtKeys
  const good = readToken(admin.token ?? '')
  const other = await admin.expect('adminCreateUser', 201, {
    body: { phone: '+12025554001', name: 'Mallory', password: 'correct horse battery' },
  })
  // What is made here the same way is good: the others fail for what is wrong with them.
  await admin.expect('me', 200, { token: signed(good.header, good.claims, key.secret) })

  const forged = forgedTokens(good, key, String(other.json['id']))
  expect(forged.size).toBeGreaterThan(30)
  for (const [what, token] of forged) {
    for (const name of ['me', 'adminListUsers'] as const) {
      const { status, json } = await admin.call(name, { token })
      expect([what, name, status, { ...(json['error'] as object), request_id: '' }]).toEqual([
        what,
        name,
        401,
        {
          type: 'auth_error',
          code: 'TOKEN_INVALID',
          message: expect.any(String) as string,
          param: null,
          request_id: '',
        },
      ])
    }
  }
  await admin.expect('me', 200)
})
