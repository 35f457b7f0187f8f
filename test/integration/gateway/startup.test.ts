import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo, Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, expect, inject, it, vi } from 'vitest'
import { generateApiKey } from '../../../src/core/api-key.ts'
import type { Program } from '../../support/program.ts'
import { askChat, copyMadeDatabase, databaseEnv, runProgram, stopPrograms } from '../../support/program.ts'

const root = mkdtempSync(join(tmpdir(), 'sluice-startup-'))
const key = generateApiKey()
vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 })
let env: Record<string, string>
let directories = 0

beforeEach(async () => {
  env = await databaseEnv()
})

afterEach(stopPrograms)

afterAll(() => {
  rmSync(root, { recursive: true, force: true })
})

it('takes a free port for 0, another one each time', async () => {
  const [one, other] = await Promise.all([start(newDirectory()).ready(), start(newDirectory()).ready()])
  expect(one).toMatch(/^http:\/\/127\.0\.0\.1:[1-9]\d+$/)
  expect(new URL(one).port).not.toBe(new URL(other).port)
  expect((await askChat(one, key, 'sim-gpt')).status).toBe(200)
  expect((await askChat(other, key, 'sim-gpt')).status).toBe(200)
})

it('says that a port is in use, and leaves the one who has it alone', async () => {
  const holder = await listen()
  const { port } = holder.address() as AddressInfo
  const directory = newDirectory()
  const program = start(directory, { PORT: String(port) })
  expect(await program.ended).toBe(1)
  expect(program.stderr()).toBe(
    `sluice: port ${port} on 127.0.0.1 is in use; set PORT to another one or stop the program that has it\n`,
  )
  expect(program.stdout()).toBe('')
  expect(holder.listening).toBe(true)
  // Nothing is left behind that would keep the next one out.
  expect(locksIn(directory)).toEqual([])
  await new Promise((resolve) => holder.close(resolve))
  const url = await start(directory, { PORT: String(port) }).ready()
  expect(new URL(url).port).toBe(String(port))
})

it('does not share the port of another gateway', async () => {
  const first = start(newDirectory())
  const url = await first.ready()
  const second = start(newDirectory(), { PORT: new URL(url).port })
  expect(await second.ended).toBe(1)
  expect(second.stderr()).toMatch(/^sluice: port \d+ on 127\.0\.0\.1 is in use; .*\n$/)
  expect((await askChat(url, key, 'sim-gpt')).status).toBe(200)
})

it('says which process has the data directory, and does that one no harm', async () => {
  const directory = newDirectory()
  const first = start(directory)
  const url = await first.ready()
  const before = snapshotOf(directory)
  const second = start(directory)
  expect(await second.ended).toBe(1)
  expect(second.stderr()).toBe(
    `sluice: data directory ${join(directory, 'data')} is in use by process ${first.pid}; stop it or choose another directory\n`,
  )
  expect(second.stdout()).toBe('')
  expect(snapshotOf(directory)).toEqual(before)
  expect((await askChat(url, key, 'sim-gpt')).status).toBe(200)
  expect(await first.stop()).toBe(0)
  expect(locksIn(directory)).toEqual([])
})

it('lets one of two that start at once on one data directory have it', async () => {
  const directory = newDirectory()
  const both = [start(directory), start(directory)]
  const outcomes = await Promise.allSettled(both.map((program) => program.ready()))
  const winners = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
  expect(winners).toHaveLength(1)
  expect((await askChat(winners[0] ?? '', key, 'sim-gpt')).status).toBe(200)
  const loser = both[outcomes.findIndex(({ status }) => status === 'rejected')]
  expect(await loser?.ended).toBe(1)
  expect(loser?.stderr()).toMatch(/^sluice: data directory \S+ is in use by process \d+; .*\n$/)
})

it('takes over from a supervisor that was killed, on the same port and directory, again and again', async () => {
  const directory = newDirectory()
  let port = '0'
  for (let life = 0; life < 3; life++) {
    const program = start(directory, { PORT: port })
    const url = await program.ready()
    port = new URL(url).port
    expect((await askChat(url, key, 'sim-gpt')).status).toBe(200)
    program.signal('SIGKILL')
    expect(await program.ended).toBe(null)
  }
  const last = start(directory, { PORT: port })
  const url = await last.ready()
  expect(await rowCount(url, directory)).toBe(3)
})

it('names a database that cannot be reached, without its password, and can be started again with one', async () => {
  const holder = await listen()
  const { port } = holder.address() as AddressInfo
  await new Promise((resolve) => holder.close(resolve))
  const directory = newDirectory()
  for (const host of ['127.0.0.1', 'localhost']) {
    const address = `${host}:${port}`
    const program = start(directory, { DATABASE_URL: `postgres://user:canary-password@${address}/db` })
    expect(await program.ended).toBe(1)
    expect(program.stderr()).toMatch(
      new RegExp(`^sluice: the database at ${address} \\(DATABASE_URL\\) cannot be used: .*ECONNREFUSED.*\n$`),
    )
    expect(program.stdout() + program.stderr()).not.toContain('canary')
  }
  expect(existsSync(join(directory, 'data', 'first-run.json'))).toBe(false)
  expect(locksIn(directory)).toEqual([])
  const url = await start(directory).ready()
  expect((await askChat(url, key, 'sim-gpt')).status).toBe(200)
})

it.runIf(inject('database') === 'postgres')('names what Postgres has against us', async () => {
  const missing = new URL(env['DATABASE_URL'] ?? '')
  missing.pathname = '/no_such_database'
  const program = start(newDirectory(), { DATABASE_URL: missing.toString() })
  expect(await program.ended).toBe(1)
  expect(program.stderr()).toBe(
    `sluice: the database at ${missing.host} (DATABASE_URL) cannot be used: database "no_such_database" does not exist\n`,
  )
})

it.runIf(inject('database') === 'pglite')('names an embedded database that cannot be opened', async () => {
  const directory = newDirectory()
  const database = join(directory, 'data', 'database')
  rmSync(join(database, 'global'), { recursive: true })
  const program = start(directory)
  expect(await program.ended).toBe(1)
  expect(program.stderr()).toMatch(/^sluice: the embedded database in \S+ cannot be opened: .*\n$/)
  // What is left may still be mended by hand.
  expect(readdirSync(join(database, 'base')).length).toBeGreaterThan(0)
})

function start(directory: string, more: Record<string, string> = {}): Program {
  writeFileSync(join(directory, 'sluice.yaml'), `keys: [{name: test, key: ${key}}]\nserver: {fronts: 1}\n`)
  return runProgram(directory, { HOST: '127.0.0.1', PORT: '0', LOG_LEVEL: 'silent', ...env, ...more })
}

function newDirectory(): string {
  const directory = join(root, String(directories++))
  copyMadeDatabase(join(directory, 'data'))
  return directory
}

function listen(): Promise<Server> {
  return new Promise((resolve) => {
    const server = createServer()
    server.listen(0, '127.0.0.1', () => {
      resolve(server)
    })
  })
}

function locksIn(directory: string): string[] {
  return readdirSync(join(directory, 'data')).filter((name) => name.startsWith('lock-'))
}

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
