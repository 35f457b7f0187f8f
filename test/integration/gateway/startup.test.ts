import { existsSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, expect, inject, it, vi } from 'vitest'
import { dose, itLater } from '../../support/dose.ts'
import { eventually } from '../../support/eventually.ts'
import { askChat, databaseEnv, stopPrograms } from '../../support/program.ts'
import { listen, locksIn, Starts } from '../../support/starts.ts'

/** How often a supervisor is killed and another one takes over. */
const LIVES = dose('SLUICE_TEST_LIVES', { short: 1, long: 3 })
/** Under what names of this machine a database is looked for. */
const HOSTS = ['127.0.0.1', 'localhost'].slice(0, dose('SLUICE_TEST_DATABASE_HOSTS', { short: 1, long: 2 }))
const starts = new Starts()
vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 })
let env: Record<string, string>

beforeEach(async () => {
  env = await databaseEnv()
})

afterEach(stopPrograms)

afterAll(() => starts.remove())

it('says which process has the data directory, and does that one no harm', async () => {
  const directory = starts.directory()
  const first = starts.start(directory, env)
  const url = await first.ready()
  const before = snapshotOf(directory)
  const second = starts.start(directory, env)
  expect(await second.ended).toBe(1)
  expect(second.stderr()).toBe(
    `sluice: data directory ${join(directory, 'data')} is in use by process ${first.pid}; stop it or choose another directory\n`,
  )
  expect(second.stdout()).toBe('')
  expect(snapshotOf(directory)).toEqual(before)
  expect((await askChat(url, starts.key, 'sim-gpt')).status).toBe(200)
  expect(await first.stop()).toBe(0)
  expect(locksIn(directory)).toEqual([])
})

itLater('lets one of two that start at once on one data directory have it', async () => {
  const directory = starts.directory()
  const both = [starts.start(directory, env), starts.start(directory, env)]
  const outcomes = await Promise.allSettled(both.map((program) => program.ready()))
  const winners = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
  expect(winners).toHaveLength(1)
  expect((await askChat(winners[0] ?? '', starts.key, 'sim-gpt')).status).toBe(200)
  const loser = both[outcomes.findIndex(({ status }) => status === 'rejected')]
  expect(await loser?.ended).toBe(1)
  expect(loser?.stderr()).toMatch(/^sluice: data directory \S+ is in use by process \d+; .*\n$/)
})

itLater('takes over from a supervisor that was killed, on the same port and directory, again and again', async () => {
  const directory = starts.directory()
  let port = '0'
  for (let life = 0; life < LIVES; life++) {
    const program = starts.start(directory, { ...env, PORT: port })
    const url = await program.ready()
    port = new URL(url).port
    expect((await askChat(url, starts.key, 'sim-gpt')).status).toBe(200)
    program.signal('SIGKILL')
    expect(await program.ended).toBe(null)
  }
  const last = starts.start(directory, { ...env, PORT: port })
  const url = await last.ready()
  // Ready does not wait for what the journal still holds.
  await eventually(async () => expect(await rowCount(url, directory)).toBe(LIVES))
})

itLater(
  'names a database that cannot be reached, without its password, and can be started again with one',
  async () => {
    const holder = await listen()
    const { port } = holder.address() as AddressInfo
    await new Promise((resolve) => holder.close(resolve))
    const directory = starts.directory()
    for (const host of HOSTS) {
      const address = `${host}:${port}`
      const program = starts.start(directory, { ...env, DATABASE_URL: `postgres://user:canary-password@${address}/db` })
      expect(await program.ended).toBe(1)
      expect(program.stderr()).toMatch(
        new RegExp(`^sluice: the database at ${address} \\(DATABASE_URL\\) cannot be used: .*ECONNREFUSED.*\n$`),
      )
      expect(program.stdout() + program.stderr()).not.toContain('canary')
    }
    expect(existsSync(join(directory, 'data', 'first-run.json'))).toBe(false)
    expect(locksIn(directory)).toEqual([])
    const url = await starts.start(directory, env).ready()
    expect((await askChat(url, starts.key, 'sim-gpt')).status).toBe(200)
  },
)

it.runIf(inject('database') === 'postgres')('names what Postgres has against us', async () => {
  const missing = new URL(env['DATABASE_URL'] ?? '')
  missing.pathname = '/no_such_database'
  const program = starts.start(starts.directory(), { ...env, DATABASE_URL: missing.toString() })
  expect(await program.ended).toBe(1)
  expect(program.stderr()).toBe(
    `sluice: the database at ${missing.host} (DATABASE_URL) cannot be used: database "no_such_database" does not exist\n`,
  )
})

it.runIf(inject('database') === 'pglite')('names an embedded database that cannot be opened', async () => {
  const directory = starts.directory()
  const database = join(directory, 'data', 'database')
  rmSync(join(database, 'global'), { recursive: true })
  const program = starts.start(directory, env)
  expect(await program.ended).toBe(1)
  expect(program.stderr()).toMatch(/^sluice: the embedded database in \S+ cannot be opened: .*\n$/)
  // What is left may still be mended by hand.
  expect(readdirSync(join(database, 'base')).length).toBeGreaterThan(0)
})

/** What a second process could spoil: names of files, and the contents of those that stay. */
function snapshotOf(directory: string): unknown {
  const data = join(directory, 'data')
  const read = (name: string): string => readFileSync(join(data, name), 'utf8')
  return { names: readdirSync(data).sort(), secrets: read('secrets.json'), lock: locksIn(directory).map(read) }
}

/** Requests of the log, as the admin of the first run sees them. */
async function rowCount(url: string, directory: string): Promise<number> {
  const { admin } = JSON.parse(readFileSync(join(directory, 'data', 'first-run.json'), 'utf8')) as { admin: unknown }
  const login = await fetch(`${url}/api/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(admin),
  })
  const { token } = (await login.json()) as { token: string }
  const response = await fetch(`${url}/v1/admin/logs`, { headers: { authorization: `Bearer ${token}` } })
  return ((await response.json()) as { data: unknown[] }).data.length
}
