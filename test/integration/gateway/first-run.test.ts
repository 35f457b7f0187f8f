import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { isApiKey } from '../../../src/shared/core/api-key.ts'
import { eventually } from '../../support/eventually.ts'
import type { Program } from '../../support/program.ts'
import { askChat, databaseEnv, runProgram } from '../../support/program.ts'

interface FirstRun {
  readonly base_url: string
  readonly api_key: string
  readonly admin: { readonly phone: string; readonly password: string }
}

const cwd = mkdtempSync(join(tmpdir(), 'sluice-first-'))
const file = join(cwd, 'data', 'first-run.json')
vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 })
let env: Record<string, string>
let program: Program
let url: string
let made: FirstRun

beforeAll(async () => {
  // No configuration but a port that nobody else has, and no load balancer to give notice to.
  env = { PORT: '0', SLUICE__SERVER__DRAIN_ANNOUNCE_MS: '0', ...(await databaseEnv()) }
  program = runProgram(cwd, env)
  url = await program.ready()
  made = JSON.parse(readFileSync(file, 'utf8')) as FirstRun
})

afterAll(async () => {
  await program.stop()
  rmSync(cwd, { recursive: true, force: true })
})

it('makes an admin and an entry key, in a file for its owner alone', () => {
  expect(made).toEqual({
    base_url: url,
    api_key: expect.any(String),
    admin: { phone: expect.stringMatching(/^\+\d{8,15}$/), password: expect.any(String) },
  })
  expect(isApiKey(made.api_key)).toBe(true)
  expect(made.admin.password.length).toBeGreaterThanOrEqual(16)
  expect((statSync(file).mode & 0o777).toString(8)).toBe('600')
  expect((statSync(join(cwd, 'data')).mode & 0o777).toString(8)).toBe('700')
})

it('prints them once, and nothing on standard error', async () => {
  await eventually(() => expect(program.stdout()).toContain('curl -N'))
  expect(program.stdout().split(made.admin.password)).toHaveLength(2)
  // In the list, and in the line to try.
  expect(program.stdout().split(made.api_key)).toHaveLength(3)
  expect(program.stderr()).toBe('')
})

it('listens on every address and names one that works', () => {
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
})

it('prints a curl line that works as it stands', async () => {
  const line = /^ *(curl -N [^]*?')\n/m.exec(program.stdout())?.[1] ?? ''
  const [address = '', ...options] = argumentsOf(line)
  expect(address).toBe(`${url}/v1/chat/completions`)
  const headers = options.flatMap((option, at) => (option === '-H' ? [(options[at + 1] ?? '').split(': ')] : []))
  const body = options[options.indexOf('-d') + 1] ?? ''
  const response = await fetch(address, { method: 'POST', headers: Object.fromEntries(headers), body })
  expect(response.status).toBe(200)
  expect((await response.text()).trimEnd().endsWith('data: [DONE]')).toBe(true)
})

it.runIf(spawnSync('curl', ['--version']).status === 0)('prints a line that curl itself takes', () => {
  const line = /^ *(curl -N [^]*?')\n/m.exec(program.stdout())?.[1] ?? ''
  const { stdout, status } = spawnSync('sh', ['-c', line.replace('curl -N', 'curl -sS -N')], { encoding: 'utf8' })
  expect(status).toBe(0)
  expect(stdout.trimEnd().endsWith('data: [DONE]')).toBe(true)
})

it('serves the models of the built-in simulator', async () => {
  const response = await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${made.api_key}` } })
  const { data } = (await response.json()) as { data: Array<{ id: string }> }
  expect(data.map(({ id }) => id).sort()).toEqual([
    'sim-claude',
    'sim-embed',
    'sim-gpt',
    'sim-gpt-mini',
    'sim-image',
    'sim-rerank',
    'sim-video',
  ])
})

it('lets the admin in', async () => {
  const response = await login(made.admin)
  expect(response.status).toBe(200)
  expect(await response.json()).toMatchObject({ user: { phone: made.admin.phone, role: 'admin' } })
})

it('shows no secret at the next start, changes none, and knows them still', async () => {
  const before = readFileSync(file, 'utf8')
  expect(await program.stop()).toBe(0)
  writeFileSync(join(cwd, 'sluice.yaml'), `log: {level: debug, file: ${join(cwd, 'sluice.log')}}\n`)
  program = runProgram(cwd, env)
  url = await program.ready()

  expect((await askChat(url, made.api_key, 'sim-gpt')).status).toBe(200)
  expect((await askChat(url, `${made.api_key.slice(0, -1)}!`, 'sim-gpt')).status).toBe(401)
  const response = await login(made.admin)
  const { token } = (await response.json()) as { token: string }
  expect((await login({ ...made.admin, password: 'wrong-canary-password' })).status).toBe(401)
  expect(await program.stop()).toBe(0)

  expect(readFileSync(file, 'utf8')).toBe(before)
  const { keyHash, jwtKeys } = JSON.parse(readFileSync(join(cwd, 'data', 'secrets.json'), 'utf8')) as {
    keyHash: string
    jwtKeys: Array<{ secret: string }>
  }
  const said = program.stdout() + program.stderr() + readFileSync(join(cwd, 'sluice.log'), 'utf8')
  const secrets = [made.api_key, made.admin.password, 'wrong-canary-password', token, keyHash]
  expect(secrets.concat(jwtKeys.map(({ secret }) => secret)).filter((secret) => said.includes(secret))).toEqual([])
})

function login(credentials: { phone: string; password: string }): Promise<Response> {
  return fetch(`${url}/api/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(credentials),
  })
}

/** What the shell would hand to `curl -N`. */
function argumentsOf(line: string): string[] {
  const script = line.replace(/^curl -N/, String.raw`printf '%s\0'`)
  const { stdout } = spawnSync('sh', ['-c', script], { encoding: 'utf8' })
  return stdout.split('\0').slice(0, -1)
}
