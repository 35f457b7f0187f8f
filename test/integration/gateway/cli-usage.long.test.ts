import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { jsonOf } from '../../support/cli-commands.ts'
import { sluice } from '../../support/sluice.ts'

const PHONE = '+12025550123'
const root = mkdtempSync(join(tmpdir(), 'sluice-cli-'))
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

describe('a command that is given wrongly', () => {
  it.concurrent.each([
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
    [[], 'a command is missing'],
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
  for (const name of ['start', 'migrate', 'create-admin', 'keys', 'reconcile', 'adopt-secrets', 'bench', 'doctor']) {
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

describe('doctor', () => {
  it('finds nothing where nothing is yet, and makes nothing', async () => {
    const cwd = newDirectory()
    const said = await sluice(['doctor'], { cwd, env: { PORT: '0' } })
    expect(said).toMatchObject({ code: 0, stderr: '' })
    expect(said.stdout).toContain('No check failed.')
    expect(said.stdout).toContain('the first start creates')
    expect(() => cpSync(join(cwd, 'data'), join(cwd, 'copy'), { recursive: true })).toThrow()
  })

  it('warns of a credential that is not used because its provider needs an address', async () => {
    const said = await sluice(['doctor'], { cwd: newDirectory(), env: { PORT: '0', AZURE_OPENAI_API_KEY: 'a-secret' } })
    expect(said).toMatchObject({ code: 0, stderr: '' })
    expect(said.stdout).toMatch(
      /WARNING {2}upstream azure-openai: AZURE_OPENAI_API_KEY is set and not used.*\n.*set AZURE_OPENAI_BASE_URL too/,
    )
    expect(said.stdout).not.toContain('a-secret')
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
