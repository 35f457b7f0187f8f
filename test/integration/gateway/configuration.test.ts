import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { generateApiKey } from '../../../src/shared/core/api-key.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { firstCases } from '../../support/dose.ts'
import { askChat, copyMadeDatabase, databaseEnv, runProgram, stopPrograms } from '../../support/program.ts'
import { eventually } from '../../support/eventually.ts'

const root = mkdtempSync(join(tmpdir(), 'sluice-configuration-'))
let directories = 0
vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 })

afterAll(async () => {
  await stopPrograms()
  rmSync(root, { recursive: true, force: true })
})

interface Wrong {
  readonly yaml?: string
  readonly env?: Record<string, string>
  readonly args?: readonly string[]
  /** 1 by default. */
  readonly exitCode?: number
  /** All that is said: one line. */
  readonly says: string | RegExp
}

const canary = 'sk-canary-0123456789'
const WRONG: Readonly<Record<string, Wrong>> = {
  'an unknown key': {
    yaml: 'log:\n  level: warn\nserver:\n  prot: 1\n',
    says: /^sluice: sluice\.yaml:4:3: server\.prot is not a known key; did you mean "port"\?; allowed: host, port, .*$/,
  },
  'a value out of range': {
    yaml: 'server:\n  fronts: 0\n',
    says: 'sluice: sluice.yaml:2:11: server.fronts must be a whole number from 1 to 256, not 0',
  },
  'a wrong choice': {
    yaml: 'journal:\n  durability: dsik\n',
    says: 'sluice: sluice.yaml:2:15: journal.durability must be one of os, disk; did you mean "disk"?',
  },
  'what is not YAML': { yaml: 'server:\n  port: [1\n', says: /^sluice: sluice\.yaml:\d+:\d+: not valid YAML: .+$/ },
  'a bad environment variable': {
    env: { PORT: 'http' },
    says: 'sluice: PORT: server.port must be a whole number from 0 to 65535, not a text',
  },
  'a bad variable of the general form': {
    env: { SLUICE__LIMITS__MAX_BODY_BYTES: '1' },
    says: /^sluice: SLUICE__LIMITS__MAX_BODY_BYTES: limits\.max_body_bytes must be a whole number from 1024 to 1073741824, not 1$/,
  },
  'an address of a database that is none': {
    env: { DATABASE_URL: `mysql://user:${canary}@host/db` },
    says: 'sluice: DATABASE_URL: database.url must be an address that begins with postgres://',
  },
  'an address of a database that cannot be read': {
    env: { DATABASE_URL: `postgres://user:${canary}#@host:port/db` },
    says: /^sluice: DATABASE_URL: database\.url is not a valid address; .*$/,
  },
  'a file that is not there': {
    args: ['--config', 'other.yaml'],
    says: 'sluice: other.yaml: cannot be read (no such file)',
  },
  'an unknown argument': {
    args: ['--confg', 'x'],
    says: "sluice: Unknown option '--confg'; usage: --config FILE",
    exitCode: 2,
  },
  'an entry key that is none, without quoting it': {
    yaml: `keys:\n  - name: first\n    key: ${canary}\n`,
    says: /^sluice: sluice\.yaml:3:10: keys\[0\]\.key (?!.*canary).+$/,
  },
  'an upstream without a credential': {
    yaml: 'upstreams:\n  - {id: a, dialect: openai-chat, base_url: "http://a", models: [m]}\n',
    says: 'sluice: sluice.yaml:2:5: upstreams[0].keys: upstream a needs a key with a credential (or auth: none)',
  },
  'a certificate that is not there': {
    yaml: 'server:\n  tls: {cert_file: no-cert.pem, key_file: sluice.yaml}\n',
    says: /^sluice: .*server\.tls\.cert_file.*no such file.*$/,
  },
  'a certificate that is none': {
    yaml: 'server:\n  tls: {cert_file: sluice.yaml, key_file: sluice.yaml}\n',
    says: /^sluice: sluice\.yaml:2:8: server\.tls: \S+ and \S+ are not a certificate and its key$/,
  },
  'a log file that cannot be made': {
    yaml: 'log:\n  file: /dev/null/sluice.log\n',
    says: /^sluice: .*log\.file.*$/,
  },
  'a host that is none of this machine': {
    env: { HOST: '192.0.2.1' },
    says: /^sluice: cannot listen on 192\.0\.2\.1:0: .*$/,
  },
}

describe('a wrong configuration is one clear line, an exit code, and nothing else', () => {
  it.concurrent.each(firstCases(6, Object.entries(WRONG)))(
    '%s',
    async (_name, { yaml, env, args, exitCode = 1, says }) => {
      const cwd = newDirectory()
      if (yaml !== undefined) writeFileSync(join(cwd, 'sluice.yaml'), yaml)
      const program = runProgram(cwd, { PORT: '0', ...env }, args)
      expect(await program.ended).toBe(exitCode)
      const lines = program.stderr().trimEnd().split('\n')
      expect(lines).toEqual([typeof says === 'string' ? says : expect.stringMatching(says)])
      expect(program.stdout()).toBe('')
      expect(program.stderr()).not.toContain('canary')
      expect(existsSync(join(cwd, 'data', 'first-run.json'))).toBe(false)
      expect(existsSync(join(cwd, 'data', 'database'))).toBe(false)
    },
  )
})

it('prints each error of a wrong configuration, one a line', async () => {
  const cwd = newDirectory()
  writeFileSync(join(cwd, 'sluice.yaml'), 'server: {port: 70000, trusted_proxies: [canary]}\nlog: {level: inof}\n')
  const program = runProgram(cwd, { SLUICE__LOG__RETENTION_DAYS: '-1' })
  expect(await program.ended).toBe(1)
  expect(program.stderr().trimEnd().split('\n')).toEqual([
    'sluice: the configuration has 4 errors:',
    '  sluice.yaml:1:16: server.port must be a whole number from 0 to 65535, not 70000',
    '  sluice.yaml:2:14: log.level must be one of debug, info, warn, error, silent; did you mean "info"?',
    '  SLUICE__LOG__RETENTION_DAYS: log.retention_days must be a whole number from 0 to 36500, not -1',
    '  sluice.yaml:1:41: server.trusted_proxies[0] must be an address or a CIDR range, e.g. 10.0.0.0/8',
  ])
})

it('says in one line, built or not, that its packages are not installed', () => {
  const cwd = newDirectory()
  const root = fileURLToPath(new URL('../../..', import.meta.url))
  const files = ['package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.build.json', 'config', 'src', 'dist']
  for (const file of files) cpSync(join(root, file), join(cwd, file), { recursive: true })
  const run = (file: string): [number | null, string] => {
    const { status, stderr } = spawnSync(process.execPath, [join(cwd, file)], {
      cwd,
      encoding: 'utf8',
      timeout: 60_000,
    })
    return [status, stderr]
  }
  expect(run('dist/main.js')).toEqual([1, expect.stringMatching(/^sluice: Cannot find package .*\n$/)])
  rmSync(join(cwd, 'dist'), { recursive: true })
  expect(run('src/build.mjs')).toEqual([
    1,
    expect.stringMatching(/^sluice: Cannot find package .*; run npm ci first\n$/),
  ])
})

it('refuses damaged secrets by the name of their file, and leaves them as they are', async () => {
  const cwd = newDirectory()
  const file = join(cwd, 'data', 'secrets.json')
  mkdirSync(join(cwd, 'data'))
  writeFileSync(file, '{"keyHash": "canary')
  const program = runProgram(cwd, { PORT: '0' })
  expect(await program.ended).toBe(1)
  expect(program.stderr()).toBe(`sluice: ${file}: is damaged; restore it from a backup, keys and tokens depend on it\n`)
  expect(readFileSync(file, 'utf8')).toBe('{"keyHash": "canary')
})

it('reads sluice.yaml of its directory, and the environment beats it', async () => {
  const cwd = newDirectory()
  const key = generateApiKey()
  writeFileSync(
    join(cwd, 'sluice.yaml'),
    `server: {host: 127.0.0.1, port: 1, fronts: 5}\ndata_dir: ./elsewhere\nkeys: [{name: mine, key: '\${MY_KEY}'}]\n`,
  )
  const env = {
    HOST: '127.0.0.2',
    PORT: '0',
    SLUICE_DATA_DIR: './here',
    SLUICE__SERVER__DRAIN_ANNOUNCE_MS: '0',
    SLUICE__SERVER__FRONTS: '2',
    MY_KEY: key,
  }
  copyMadeDatabase(join(cwd, 'here'))
  const program = runProgram(cwd, { ...env, ...(await databaseEnv()) })
  try {
    const url = await program.ready()
    expect(url).toMatch(/^http:\/\/127\.0\.0\.2:[1-9]\d+$/)
    expect((await askChat(url, key, 'sim-gpt')).status).toBe(200)
    await expect(fetch(url.replace('127.0.0.2', '127.0.0.1'))).rejects.toThrow()
    expect(existsSync(join(cwd, 'here', 'secrets.json'))).toBe(true)
    expect(existsSync(join(cwd, 'elsewhere'))).toBe(false)
    expect(childrenOf(program.pid).filter((command) => command.includes('front/main.js'))).toHaveLength(2)
    expect(program.stdout()).not.toContain(key)
  } finally {
    await program.stop()
  }
})

it('makes upstreams of the credentials in the environment, and says none of them', async () => {
  const cwd = newDirectory()
  const simulator = await startSimulator()
  const credentials = { OPENAI_API_KEY: 'sk-proj-canary-openai', ANTHROPIC_API_KEY: 'sk-ant-canary-anthropic' }
  writeFileSync(join(cwd, 'sluice.yaml'), 'log: {level: debug, file: all.log}\nserver: {drain_announce_ms: 0}\n')
  copyMadeDatabase(join(cwd, 'data'))
  const program = runProgram(cwd, {
    ...credentials,
    OPENAI_BASE_URL: `${simulator.origin}/v1`,
    ANTHROPIC_BASE_URL: simulator.origin,
    PORT: '0',
    ...(await databaseEnv()),
  })
  try {
    const url = await program.ready()
    const { api_key: key } = JSON.parse(readFileSync(join(cwd, 'data', 'first-run.json'), 'utf8')) as {
      api_key: string
    }
    expect((await askChat(url, key, 'gpt-4o-mini')).status).toBe(200)
    // The request to try names a model that answers, though both upstreams have patterns alone.
    await eventually(() => expect(program.stdout()).toContain('curl -N'))
    const [, example = ''] = /"model":"(.*?)"/.exec(program.stdout()) ?? []
    expect(example).not.toBe('MODEL')
    expect((await askChat(url, key, example)).status).toBe(200)
    const message = await fetch(`${url}/v1/messages`, {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json', 'anthropic-version': '2023-06-01' },
      body: JSON.stringify({ model: 'claude-sonnet-4-5', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] }),
    })
    expect(message.status).toBe(200)
    // And one that fails, which is when logs say most.
    expect((await askChat(url, key, 'gpt-4o', '[[sim {"status":401}]]')).status).toBe(503)
    await eventually(() => expect(simulator.ledger.totals.inFlight).toBe(0))
    expect(simulator.ledger.credentials.sort()).toEqual(Object.values(credentials).sort())
    expect(childrenOf(program.pid).filter((command) => command.includes('simulator'))).toEqual([])
    // A first run that tells a model which there is.
    expect(program.stdout()).toContain('"model":"gpt-')
  } finally {
    await program.stop()
    await simulator.close()
  }
  const said = program.stdout() + program.stderr() + readFileSync(join(cwd, 'all.log'), 'utf8')
  expect(said).not.toContain('canary')
})

function newDirectory(): string {
  const directory = join(root, String(directories++))
  mkdirSync(directory)
  return directory
}

function childrenOf(pid: number): string[] {
  const pids = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')
  return pids.map((child) => readFileSync(`/proc/${child}/cmdline`, 'utf8'))
}
