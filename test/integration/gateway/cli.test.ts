import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { eventually } from '../../support/eventually.ts'
import { startGateway } from '../../support/gateway.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { ManagementClient } from '../../support/management-client.ts'
import { askChat, copyMadeDatabase, databaseEnv } from '../../support/program.ts'
import { sluice } from '../../support/sluice.ts'
import type { Said } from '../../support/sluice.ts'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const PHONE = '+12025550123'
const PASSWORD = 'a-long-enough-password'
const root = mkdtempSync(join(tmpdir(), 'sluice-cli-'))
const isEmbedded = inject('database') === 'pglite'
let directories = 0
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 })

afterAll(() => {
  rmSync(root, { recursive: true, force: true })
})

function newDirectory(): string {
  const directory = join(root, String(directories++))
  mkdirSync(directory)
  return directory
}

/** A directory in which commands find an empty database whose schema is as this version has it. */
async function newStore(): Promise<{
  readonly cwd: string
  readonly run: (args: readonly string[], more?: { env?: Record<string, string>; input?: string }) => Promise<Said>
}> {
  const cwd = newDirectory()
  copyMadeDatabase(join(cwd, 'data'))
  const env = await databaseEnv()
  const run = (args: readonly string[], more: { env?: Record<string, string>; input?: string } = {}): Promise<Said> =>
    sluice(args, { cwd, ...more, env: { ...env, ...more.env } })
  expect((await run(['migrate'])).code).toBe(0)
  return { cwd, run }
}

const jsonOf = (said: Said): Record<string, never> => JSON.parse(said.stdout) as Record<string, never>

describe('a command that is given wrongly', () => {
  it.each([
    [['nonsense'], "unknown command 'nonsense'"],
    [['migrate', '--no-such-thing'], "unknown option '--no-such-thing'"],
    [['migrate', 'twice'], 'too many arguments'],
    [['create-admin'], "required option '--phone <number>' not specified"],
    [['keys', 'toggle'], "missing required argument 'id'"],
    [['keys', 'toggle', 'key_1', '--on', '--off'], 'give --on or --off, not both'],
    [['keys', 'create', '--name', 'a', '--rpm', 'many'], 'many is not a whole number'],
    [['keys', 'list', '--user', PHONE, '--enterprise', 'ent_1'], 'give --user or --enterprise, not both'],
    [['keys', 'list', '--url', 'http://127.0.0.1:1'], 'set SLUICE_TOKEN'],
    [['create-admin', '--phone', PHONE], 'set SLUICE_ADMIN_PASSWORD'],
    [['start', '--port', '1'], "unknown option '--port'"],
    [[], 'which command?'],
  ])('%j ends with 2 and says what is wrong', async (args, says) => {
    const said = await sluice(args, { cwd: newDirectory() })
    expect(said.code).toBe(2)
    expect(said.stderr).toContain(says)
    expect(said.stdout).toBe('')
  })

  it('says so as JSON where that is asked for', async () => {
    const said = await sluice(['keys', 'toggle', '--json'], { cwd: newDirectory() })
    expect(said).toMatchObject({ code: 2, stderr: '' })
    expect(jsonOf(said)).toEqual({ error: { message: "missing required argument 'id'" } })
  })
})

it('helps, and says its version', async () => {
  const help = await sluice(['--help'], { cwd: root })
  expect(help.code).toBe(0)
  for (const name of ['start', 'migrate', 'create-admin', 'keys', 'reconcile', 'bench', 'doctor']) {
    expect(help.stdout).toMatch(new RegExp(`^  ${name}`, 'm'))
  }
  expect(help.stdout).toContain('Exit codes: 0')
  expect((await sluice(['keys', 'create', '--help'], { cwd: root })).stdout).toContain('--monthly-budget')
  expect(await sluice(['--version'], { cwd: root })).toMatchObject({ code: 0, stdout: '0.0.0\n' })
})

it('ends with 1 where the configuration is wrong, naming the place', async () => {
  const cwd = newDirectory()
  writeFileSync(join(cwd, 'sluice.yaml'), 'server:\n  prot: 1\n')
  for (const args of [['migrate'], ['start'], ['reconcile'], ['keys', 'list']]) {
    const said = await sluice(args, { cwd })
    expect(said.code).toBe(1)
    expect(said.stderr).toMatch(/^sluice: sluice\.yaml:2:3: server\.prot is not a known key/)
  }
})

describe('migrate', () => {
  it('makes the schema, once, and says what there is to do before', async () => {
    const cwd = newDirectory()
    const env = await databaseEnv()
    const before = await sluice(['migrate', '--check', '--json'], { cwd, env })
    expect(before.code).toBe(1)
    const { pending } = jsonOf(before) as unknown as { pending: string[] }
    expect(pending[0]).toBe('0001-initial')
    const lacking = await sluice(['keys', 'list'], { cwd, env })
    expect(lacking.code).toBe(1)
    expect(lacking.stderr).toContain('run sluice migrate')
    expect(jsonOf(await sluice(['migrate', '--json'], { cwd, env }))).toEqual({ applied: pending })
    expect(await sluice(['migrate'], { cwd, env })).toMatchObject({ code: 0, stdout: 'The schema is up to date.\n' })
    expect(await sluice(['migrate', '--check'], { cwd, env })).toMatchObject({ code: 0 })
  })
})

it('makes an admin, with the password from where nobody else sees it', async () => {
  const { run } = await newStore()
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
})

it('keeps keys on the database', async () => {
  const { run } = await newStore()
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
})

it('proves that the books agree', async () => {
  const { run } = await newStore()
  expect(await run(['reconcile'])).toEqual({ code: 0, stdout: 'The books agree.\n', stderr: '' })
  expect(jsonOf(await run(['reconcile', '--json']))).toEqual({ agree: true, enterprises: [], drifts: [] })
})

describe('beside a gateway', () => {
  let gateway: TestGateway
  let admin: ManagementClient
  let env: Record<string, string>
  beforeAll(async () => {
    gateway = await startGateway()
    admin = await ManagementClient.ofAdmin(gateway)
    env = {
      SLUICE_DATA_DIR: gateway.dataDir,
      ...(gateway.databaseUrl === null ? {} : { DATABASE_URL: gateway.databaseUrl }),
    }
  })
  afterAll(() => gateway.stop())

  it('keeps keys through it', async () => {
    const run = (args: readonly string[], token = admin.token ?? ''): Promise<Said> =>
      sluice(['keys', ...args, '--url', gateway.url], { cwd: root, env: { SLUICE_TOKEN: token } })
    const made = jsonOf(await run(['create', '--name', 'remote', '--json']))
    const id = String(made['id'])
    await eventually(async () => expect((await askChat(gateway.url, String(made['key']), 'sim-gpt')).status).toBe(200))
    expect((await run(['list'])).stdout).toContain('remote')
    expect(await run(['toggle', id, '--off'])).toMatchObject({ code: 0, stdout: `off: remote (${id})\n` })
    await eventually(async () => expect((await askChat(gateway.url, String(made['key']), 'sim-gpt')).status).toBe(401))
    expect((await run(['rotate', id])).stdout).toContain('sk-')
    expect(await run(['delete', id])).toMatchObject({ code: 0, stdout: `deleted: ${id}\n` })
    const gone = await run(['delete', id, '--json'])
    expect(gone.code).toBe(1)
    expect(jsonOf(gone)).toMatchObject({ error: { code: 'NOT_FOUND', status: 404 } })
    const stranger = await run(['list'], 'no-token')
    expect(stranger.code).toBe(1)
    expect(stranger.stderr).toContain('token')
    const nobody = await sluice(['keys', 'list', '--url', 'nowhere'], { cwd: root, env: { SLUICE_TOKEN: 'a' } })
    expect(nobody).toMatchObject({ code: 2 })
  })

  it('leaves the embedded database to its owner, and shares Postgres', async () => {
    const said = await sluice(['keys', 'create', '--name', 'beside', '--json'], { cwd: root, env })
    if (isEmbedded) {
      expect(said.code).toBe(1)
      expect(jsonOf(said)).toMatchObject({
        error: { message: expect.stringContaining('is in use by process') as string },
      })
      return
    }
    expect(said.code).toBe(0)
    const key = String(jsonOf(said)['key'])
    await eventually(async () => expect((await askChat(gateway.url, key, 'sim-gpt')).status).toBe(200))
  })

  it('examines what it stands on', async () => {
    const said = await sluice(['doctor', '--json'], { cwd: root, env: { ...env, PORT: String(gateway.port) } })
    expect(said).toMatchObject({ code: 0, stderr: '' })
    const { findings } = jsonOf(said) as unknown as { findings: Array<{ check: string; status: string; says: string }> }
    const of = (check: string) => findings.find((finding) => finding.check === check)
    expect(of('data directory')).toMatchObject({ status: 'ok', says: expect.stringContaining('in use') as string })
    expect(of('port')).toMatchObject({ status: 'skipped' })
    expect(of('database')).toMatchObject({ status: isEmbedded ? 'skipped' : 'ok' })
    expect(of('upstreams')).toMatchObject({ status: 'skipped' })
    if (!isEmbedded) {
      expect(of('migrations')).toMatchObject({ status: 'ok' })
      expect(of('clock')).toMatchObject({ status: 'ok' })
    }
  })
})

describe('doctor', () => {
  it('finds nothing where nothing is yet, and makes nothing', async () => {
    const cwd = newDirectory()
    const said = await sluice(['doctor'], { cwd, env: { PORT: '0' } })
    expect(said).toMatchObject({ code: 0, stderr: '' })
    expect(said.stdout).toContain('Nothing is in the way.')
    expect(said.stdout).toContain('will be made by the first start')
    expect(() => cpSync(join(cwd, 'data'), join(cwd, 'copy'), { recursive: true })).toThrow()
  })

  it('says what to do about a wrong configuration', async () => {
    const cwd = newDirectory()
    writeFileSync(join(cwd, 'sluice.yaml'), 'server:\n  prot: 1\n')
    const said = await sluice(['doctor'], { cwd })
    expect(said.code).toBe(1)
    expect(said.stdout).toMatch(/FAILED {3}configuration: sluice\.yaml:2:3: server\.prot is not a known key/)
  })

  it('finds stores and upstreams that do not answer, and a port that is taken', async () => {
    const simulator = await startSimulator()
    const cwd = newDirectory()
    const taken = Number(new URL(simulator.origin).port)
    writeFileSync(
      join(cwd, 'sluice.yaml'),
      JSON.stringify({
        server: { host: '127.0.0.1', port: taken },
        upstreams: [
          {
            id: 'there',
            dialect: 'openai-chat',
            base_url: `${simulator.origin}/v1`,
            keys: [{ credential: 'sk-canary-1' }],
            models: ['sim-gpt'],
          },
          {
            id: 'gone',
            dialect: 'openai-chat',
            base_url: 'http://127.0.0.1:1/v1',
            keys: [{ credential: 'sk-canary-2' }],
            models: ['m'],
          },
        ],
      }),
    )
    const env = { DATABASE_URL: 'postgres://nobody:canary@127.0.0.1:1/none', REDIS_URL: 'redis://:canary@127.0.0.1:1' }
    try {
      const said = await sluice(['doctor', '--spend', '--json'], { cwd, env })
      expect(said).toMatchObject({ code: 1, stderr: '' })
      expect(said.stdout).not.toContain('canary')
      const { healthy, findings } = jsonOf(said) as unknown as {
        healthy: boolean
        findings: Array<{ check: string; status: string; fix: string | null }>
      }
      expect(healthy).toBe(false)
      const bad = findings.filter(({ status }) => status === 'failed')
      expect(bad.map(({ check }) => check)).toEqual(['port', 'database', 'redis', 'upstream gone'])
      for (const { fix } of bad) expect(fix).not.toBeNull()
      const call = findings.find(({ check }) => check.startsWith('upstream there, key'))
      expect(call).toMatchObject({ status: 'ok', says: 'sim-gpt answers' })
      // Nothing of it goes out but with the call itself.
      expect(simulator.ledger.credentials.toSorted()).toEqual(['', 'sk-canary-1'])
    } finally {
      await simulator.close()
    }
  })
})

describe('bench', () => {
  const copyOf = (): string => {
    const directory = newDirectory()
    cpSync(join(ROOT, 'dist'), join(directory, 'dist'), { recursive: true })
    symlinkSync(join(ROOT, 'node_modules'), join(directory, 'node_modules'))
    writeFileSync(
      join(directory, 'package.json'),
      JSON.stringify({ version: '1.2.3', type: 'module', scripts: { bench: 'node -e "process.exit(3)"' } }),
    )
    return directory
  }

  it('says so where there are none', async () => {
    const cwd = copyOf()
    const said = await sluice(['bench'], { cwd, program: join(cwd, 'dist/cli/sluice.js') })
    expect(said.code).toBe(1)
    expect(said.stderr).toContain('there are no benchmarks')
  })

  it('runs those of the checkout, and fails with them', async () => {
    const cwd = copyOf()
    mkdirSync(join(cwd, 'bench'))
    writeFileSync(join(cwd, 'bench', 'run.ts'), '')
    const said = await sluice(['bench', '--json'], { cwd, program: join(cwd, 'dist/cli/sluice.js') })
    expect(said.code).toBe(1)
    expect(jsonOf(said)).toEqual({ passed: false, exit_code: 3 })
  })
})
