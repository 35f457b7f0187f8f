import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { jsonOf } from '../../support/cli-commands.ts'
import { startGateway } from '../../support/gateway.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { ManagementClient } from '../../support/management-client.ts'
import { codeOf } from '../../support/one-time-passwords.ts'
import { sluice } from '../../support/sluice.ts'
import type { Said } from '../../support/sluice.ts'
import { itLater } from '../../support/dose.ts'

vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 })

let gateway: TestGateway
let home: string
let file: string
let admin: { readonly phone: string; readonly password: string }
beforeAll(async () => {
  gateway = await startGateway()
  home = mkdtempSync(join(tmpdir(), 'sluice-login-'))
  file = join(home, 'sluice', 'logins.json')
  const made = JSON.parse(readFileSync(join(gateway.dataDir, 'first-run.json'), 'utf8')) as { admin: typeof admin }
  admin = made.admin
})
afterAll(async () => {
  await gateway.stop()
  rmSync(gateway.dataDir, { recursive: true, force: true })
  rmSync(home, { recursive: true, force: true })
})

function run(args: readonly string[], more: { env?: Record<string, string>; input?: string } = {}): Promise<Said> {
  return sluice(args, { cwd: home, ...more, env: { XDG_CONFIG_HOME: home, ...more.env } })
}

itLater('keeps the token where only its user reads it, uses it, and revokes it', async () => {
  const before = await run(['keys', 'list', '--url', gateway.url])
  expect(before).toMatchObject({ code: 2, stdout: '' })
  expect(before.stderr).toContain(`run sluice login --url ${gateway.url}`)

  const input = `${admin.phone}\n${admin.password}\n`
  const said = await run(['login', '--url', `${gateway.url}/`], { input })
  expect(said).toMatchObject({ code: 0, stderr: '' })
  expect(said.stdout).toContain(`logged in at ${gateway.url}`)
  expect([statSync(file).mode & 0o777, statSync(join(home, 'sluice')).mode & 0o777]).toEqual([0o600, 0o700])
  const stored = readFileSync(file, 'utf8')
  expect(stored).not.toContain(admin.password)
  const { logins } = JSON.parse(stored) as { logins: Record<string, { token: string }> }
  const token = logins[gateway.url]?.token ?? ''
  expect(said.stdout).not.toContain(token)

  expect(jsonOf(await run(['keys', 'create', '--name', 'by-login', '--remote', '--json']))).toMatchObject({
    name: 'by-login',
  })
  expect((await run(['keys', 'list', '--url', gateway.url])).stdout).toContain('by-login')

  expect(await run(['logout'])).toEqual({ code: 0, stdout: `logged out of ${gateway.url}\n`, stderr: '' })
  const revoked = await run(['keys', 'list', '--url', gateway.url], { env: { SLUICE_TOKEN: token } })
  expect(revoked.code).toBe(1)
  expect((await run(['keys', 'list', '--url', gateway.url])).code).toBe(2)
  expect(await run(['logout', '--url', gateway.url])).toMatchObject({
    code: 0,
    stdout: `there is no login at ${gateway.url}\n`,
  })
})

it('takes phone and password from the environment, and keeps nothing when they are wrong', async () => {
  const env = { SLUICE_URL: gateway.url, SLUICE_PHONE: admin.phone }
  const wrong = await run(['login', '--json'], { env: { ...env, SLUICE_PASSWORD: 'not-the-password' } })
  expect(wrong.code).toBe(1)
  expect(jsonOf(wrong)).toMatchObject({ error: { status: 401 } })
  expect(() => statSync(file)).toThrow()
  const right = await run(['login', '--json'], { env: { ...env, SLUICE_PASSWORD: admin.password } })
  expect(jsonOf(right)).toMatchObject({ url: gateway.url, user: { phone: admin.phone, role: 'admin' } })
  expect(right.stdout).not.toContain('token')
  const none = await run(['login'], { env })
  expect(none).toMatchObject({ code: 2, stdout: '' })
  expect(none.stderr).toContain('SLUICE_PASSWORD')
})

it('rotates a key of an enterprise through the gateway', async () => {
  const client = new ManagementClient(gateway.url)
  await client.login(admin.phone, admin.password)
  const { json } = await client.expect('adminCreateEnterprise', 201, { body: { name: 'Acme' } })
  const env = { SLUICE_TOKEN: client.token ?? '' }
  const options = ['--enterprise', String(json['id']), '--url', gateway.url, '--json']
  const made = jsonOf(await run(['keys', 'create', '--name', 'shared', ...options], { env }))
  const said = await run(['keys', 'rotate', String(made['id']), '--grace', '0', ...options], { env })
  expect(said).toMatchObject({ code: 0, stderr: '' })
  const rotated = jsonOf(said)
  expect(rotated).toMatchObject({ id: made['id'], name: 'shared' })
  expect(String(rotated['key'])).toMatch(/^sk-/)
  expect(rotated['key']).not.toBe(made['key'])
})

it('takes the code of a user with one-time passwords', async () => {
  const client = new ManagementClient(gateway.url)
  await client.login(admin.phone, admin.password)
  const { password } = admin
  const secret = String((await client.expect('enrolTotp', 200, { body: { password } })).json['secret'])
  const confirmed = await client.expect('confirmTotp', 200, { body: { code: codeOf(secret) } })
  const [code = '', other = ''] = confirmed.json['recovery_codes'] as string[]
  const env = { SLUICE_URL: gateway.url, SLUICE_PHONE: admin.phone, SLUICE_PASSWORD: password }
  const without = await run(['login'], { env })
  expect(without.code).toBe(1)
  expect(without.stderr).toContain('send the code of the authenticator')
  expect((await run(['login', '--code', code], { env })).code).toBe(0)
  await client.expect('disableTotp', 204, { body: { password, code: other } })
})

it('forgets the token of a gateway that does not answer, and says that it stays valid', async () => {
  const env = { SLUICE_PHONE: admin.phone, SLUICE_PASSWORD: admin.password }
  expect((await run(['login', '--url', gateway.url], { env })).code).toBe(0)
  const [text, gone] = [readFileSync(file, 'utf8'), 'http://127.0.0.1:9']
  writeFileSync(file, text.replaceAll(gateway.url, gone))
  const said = await run(['logout', '--all'])
  expect(said).toMatchObject({ code: 0, stdout: `logged out of ${gone}\n` })
  expect(said.stderr).toContain('still accepts the token until')
  expect(() => statSync(file)).toThrow()
})

itLater('lets the only admin in again who lost the authenticator: create-admin --replace', async () => {
  const client = new ManagementClient(gateway.url)
  await client.login(admin.phone, admin.password)
  const begun = await client.expect('enrolTotp', 200, { body: { password: admin.password } })
  await client.expect('confirmTotp', 200, { body: { code: codeOf(String(begun.json['secret'])) } })
  const { dataDir, databaseUrl } = gateway
  await gateway.end('SIGTERM')
  const env: Record<string, string> = { SLUICE__DATA_DIR: dataDir, SLUICE_ADMIN_PASSWORD: 'another fine password' }
  if (databaseUrl !== null) env['SLUICE__DATABASE__URL'] = databaseUrl
  const said = await run(['create-admin', '--replace', '--phone', admin.phone], { env })
  expect(said).toMatchObject({ code: 0, stderr: '' })
  gateway = await startGateway({ dataDir, ...(databaseUrl === null ? {} : { database: { url: databaseUrl } }) })
  const again = new ManagementClient(gateway.url)
  await again.login(admin.phone, 'another fine password')
  expect((await again.expect('me', 200)).json).toMatchObject({ role: 'admin', totp: false })
  const { text } = await again.expect('adminAudit', 200, { query: { operation: 'adminUpdateUser' } })
  expect(text).toContain('{"field":"totp","old":true,"new":false}')
})
