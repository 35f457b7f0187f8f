import { expect } from 'vitest'
import type { Said } from './sluice.ts'

/** Runs `sluice` in a directory with a database that has no admin yet. */
export type Run = (args: readonly string[], more?: { env?: Record<string, string>; input?: string }) => Promise<Said>

const PHONE = '+12025550123'
const PASSWORD = 'a-long-enough-password'

export const jsonOf = (said: Said): Record<string, never> => JSON.parse(said.stdout) as Record<string, never>

/** Checks refusals, creation and replacement by `sluice create-admin`. */
export async function expectAdmin(run: Run): Promise<void> {
  const args = ['create-admin', '--phone', PHONE]
  const env = { SLUICE_ADMIN_PASSWORD: PASSWORD }
  const bad = await run(['create-admin', '--phone', '123'], { env })
  expect(bad.code).toBe(1)
  expect(bad.stderr).toContain('phone must be a phone number')
  const short = await run([...args, '--password-stdin'], { input: 'short\n' })
  expect(short.code).toBe(1)
  expect(short.stderr).toContain('password')
  const made = await run([...args, '--json'], { env })
  expect(made).toMatchObject({ code: 0, stderr: '' })
  expect(jsonOf(made)).toMatchObject({ phone: PHONE, created: true })
  const again = await run(args, { env })
  expect(again.code).toBe(1)
  expect(again.stderr).toContain('--replace')
  const replaced = await run([...args, '--replace', '--password-stdin', '--json'], { input: `${PASSWORD}2\n` })
  expect(jsonOf(replaced)).toEqual({ id: jsonOf(made)['id'], phone: PHONE, created: false })
  for (const said of [bad, short, made, again, replaced]) expect(said.stdout + said.stderr).not.toContain(PASSWORD)
}

/** Checks every `sluice keys` command on a database, and their refusals. */
export async function expectKeysOnDatabase(run: Run): Promise<void> {
  expect((await run(['keys', 'list'])).stderr).toContain('there is no admin yet')
  await run(['create-admin', '--phone', PHONE], { env: { SLUICE_ADMIN_PASSWORD: PASSWORD } })
  const wrong = await run(['keys', 'create', '--name', 'a', '--ip-allow', 'everywhere'])
  expect(wrong.code).toBe(1)
  expect(wrong.stderr).toContain('ip_allow[0] must be an address')
  const unknown = await run(['keys', 'create', '--name', 'a', '--monthly-budget', '5'])
  expect(unknown.code).toBe(1)
  expect(unknown.stderr).toContain('monthly_budget')

  const made = jsonOf(await run(['keys', 'create', '--name', 'ci', '--rpm', '60', '--models', 'a, b', '--json']))
  expect(made).toMatchObject({ name: 'ci', rpm: 60, models: ['a', 'b'], enabled: true })
  expect(made['key']).toMatch(/^sk-/)
  const id = String(made['id'])
  const list = await run(['keys', 'list'])
  expect(list.stdout).toMatch(new RegExp(`^${id}  ci    sk-.*  on$`, 'm'))
  expect(list.stdout).not.toContain(String(made['key']))
  expect(await run(['keys', 'toggle', id])).toMatchObject({ code: 0, stdout: `off: ci (${id})\n` })
  expect(await run(['keys', 'toggle', id, '--off'])).toMatchObject({ code: 0, stdout: `off: ci (${id})\n` })
  expect(jsonOf(await run(['keys', 'toggle', id, '--on', '--json']))).toMatchObject({ enabled: true })
  const rotated = jsonOf(await run(['keys', 'rotate', id, '--grace', '0', '--json']))
  expect(rotated['key']).not.toBe(made['key'])
  expect(jsonOf(await run(['keys', 'delete', id, '--json']))).toEqual({ id, deleted: true })
  expect(jsonOf(await run(['keys', 'list', '--user', PHONE, '--json']))).toEqual({ data: [] })
  const gone = await run(['keys', 'toggle', id])
  expect(gone.code).toBe(1)
  expect(gone.stderr).toContain(`there is no key ${id}`)
  expect((await run(['keys', 'list', '--enterprise', 'ent_none'])).stderr).toContain('there is no enterprise ent_none')
  expect((await run(['keys', 'list', '--user', '+12025550199'])).stderr).toContain('there is no user')
}

/** Creates, toggles, lists and deletes one key. */
export async function expectOneKey(run: Run): Promise<void> {
  expect((await run(['keys', 'list'])).stderr).toContain('there is no admin yet')
  await run(['create-admin', '--phone', PHONE], { env: { SLUICE_ADMIN_PASSWORD: PASSWORD } })
  const made = jsonOf(await run(['keys', 'create', '--name', 'ci', '--rpm', '60', '--models', 'a, b', '--json']))
  expect(made).toMatchObject({ name: 'ci', rpm: 60, models: ['a', 'b'], enabled: true })
  const id = String(made['id'])
  expect(await run(['keys', 'toggle', id])).toMatchObject({ code: 0, stdout: `off: ci (${id})\n` })
  expect((await run(['keys', 'list'])).stdout).toMatch(new RegExp(`^${id}  ci    sk-.*  off$`, 'm'))
  expect(jsonOf(await run(['keys', 'delete', id, '--json']))).toEqual({ id, deleted: true })
}
