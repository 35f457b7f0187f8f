import { execFile } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inspect, promisify } from 'node:util'
import { expect, it } from 'vitest'
import { readConfig } from '../../../src/shared/config/config.ts'
import { loadOrCreateSecrets } from '../../../src/shared/config/secrets.ts'
import { builtModule } from '../../support/built-module.ts'
import { temporaryDirectory } from '../../unit/config/load.ts'

const base64 = (byte: number): string => Buffer.alloc(32, byte).toString('base64')

it('creates secrets once, for the owner alone, and reads them again', () => {
  const directory = join(temporaryDirectory(), 'data')

  const first = loadOrCreateSecrets(directory)
  const again = loadOrCreateSecrets(directory)
  expect(again).toEqual(first)
  expect(first.keyHash).toHaveLength(32)
  expect(first.jwtKeys[0].secret).toHaveLength(32)
  expect(statSync(directory).mode & 0o777).toBe(0o700)
  expect(statSync(join(directory, 'secrets.json')).mode & 0o777).toBe(0o600)
  expect(readdirSync(directory)).toEqual(['secrets.json'])
  expect(loadOrCreateSecrets(join(directory, 'other')).keyHash).not.toEqual(first.keyHash)
})

it('gives all processes that start at once the same secrets', { timeout: 120_000 }, async () => {
  const directory = temporaryDirectory()
  const program = `
    const { loadOrCreateSecrets } = await import(${JSON.stringify(builtModule('shared/config/secrets').href)})
    while (Date.now() < Number(process.argv[1])) {}
    console.log(loadOrCreateSecrets(process.argv[2]).keyHash.toString('hex'))`
  const startAtMs = Date.now() + 1000
  const run = promisify(execFile)

  const data = join(directory, 'data')
  const args = ['--input-type=module', '-e', program, String(startAtMs), data]
  const outputs = await Promise.all(Array.from({ length: 6 }, () => run(process.execPath, args)))

  expect(new Set(outputs.map(({ stdout }) => stdout)).size).toBe(1)
  expect(readdirSync(data)).toEqual(['secrets.json'])
})

it('takes secrets from the environment, all or one of them', () => {
  const directory = temporaryDirectory()
  const jwt = `new:${base64(2)}, old:${base64(3)}`
  const env = { SLUICE_SECRET_KEY_HASH: base64(1), SLUICE_SECRET_JWT: jwt }

  const secrets = loadOrCreateSecrets(directory, env)
  expect(secrets.keyHash).toEqual(Buffer.alloc(32, 1))
  expect(secrets.jwtKeys).toEqual([
    { kid: 'new', secret: Buffer.alloc(32, 2) },
    { kid: 'old', secret: Buffer.alloc(32, 3) },
  ])
  expect(readdirSync(directory)).toEqual([])

  const mixed = loadOrCreateSecrets(directory, { SLUICE_SECRET_KEY_HASH: base64(1) })
  expect(mixed.keyHash).toEqual(Buffer.alloc(32, 1))
  expect(mixed.jwtKeys).toEqual(loadOrCreateSecrets(directory).jwtKeys)
})

it.each([
  [
    { SLUICE_SECRET_KEY_HASH: 'canary' },
    'SLUICE_SECRET_KEY_HASH: must be 32 bytes or more in base64 (openssl rand -base64 32)',
  ],
  [
    { SLUICE_SECRET_JWT: `canary${base64(1)}` },
    'SLUICE_SECRET_JWT: must be kid:secret, the secret 32 bytes or more in base64',
  ],
  [{ SLUICE_SECRET_JWT: `a:${base64(1)},a:${base64(2)}` }, 'SLUICE_SECRET_JWT: names a kid twice'],
])('refuses an unusable secret in the environment without quoting it', (env, message) => {
  expect(() => loadOrCreateSecrets(temporaryDirectory(), env)).toThrow(
    expect.objectContaining({ name: 'ConfigError', message }),
  )
})

it.each([
  '',
  '{',
  '{}',
  '[]',
  '{"keyHash":"canary","jwtKeys":[]}',
  `{"keyHash":"${base64(1)}","jwtKeys":[{"kid":"a"}]}`,
])('refuses a damaged file and leaves it as it is: %s', (text) => {
  const directory = temporaryDirectory()
  const file = join(directory, 'secrets.json')
  writeFileSync(file, text)

  expect(() => loadOrCreateSecrets(directory)).toThrow(/secrets\.json: is damaged/)
  expect(readFileSync(file, 'utf8')).toBe(text)
})

it('says why the data directory cannot be used', () => {
  const directory = temporaryDirectory()
  mkdirSync(join(directory, 'secrets.json'))

  expect(() => loadOrCreateSecrets(directory)).toThrow(/cannot be read \(it is a directory\)/)
})

it('shows nothing of the secrets', () => {
  const config = readConfig({ env: { SLUICE_DATA_DIR: temporaryDirectory() } })
  const secrets = loadOrCreateSecrets(config.dataDir)
  const shown = [JSON.stringify({ secrets }), inspect({ secrets }, { depth: 9 }), String(secrets)].join()

  for (const secret of [secrets.keyHash, secrets.jwtKeys[0].secret]) {
    for (const encoding of ['base64', 'hex', 'latin1'] as const) expect(shown).not.toContain(secret.toString(encoding))
  }
  expect(shown).not.toContain('Buffer')
  const { shownSettings, ...rest } = config
  expect(JSON.stringify(rest)).not.toContain('secret')
  const hidden = shownSettings.filter(({ isSecret }) => isSecret)
  expect(hidden.map(({ value }) => value)).toEqual(hidden.map(() => null))
})
