import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import type { Server, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { endWithThisProcess } from '../../src/cli/bench/end-with-this-process.ts'

// Third-party programs and libraries that tests install, in exact versions, and keep for the next run.

const CACHE = join(tmpdir(), 'sluice-test-clients')
const INSTALL_TIMEOUT_MS = 240_000
const RUN_TIMEOUT_MS = 120_000
const run = promisify(execFile)

/** The directory of installed packages, or the reason why the installation failed. */
export type Installed = { readonly directory: string } | { readonly missing: string }

/** Installs packages of npm (`name@1.2.3`) into one directory, without running their scripts. */
export function installFromNpm(packages: readonly string[]): Promise<Installed> {
  const quiet = ['--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error']
  return install(packages, (directory) => run('npm', ['install', '--prefix', directory, ...quiet, ...packages]))
}

/** Installs packages of PyPI (`name==1.2.3`) into a virtual environment, for its `bin/python`. */
export function installFromPypi(packages: readonly string[]): Promise<Installed> {
  return install(packages, async (directory) => {
    await run('python3', ['-m', 'venv', '--copies', directory])
    const python = join(directory, 'bin', 'python')
    await run(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...packages])
  })
}

const installing = new Map<string, Promise<Installed>>()

function install(packages: readonly string[], into: (directory: string) => Promise<unknown>): Promise<Installed> {
  const directory = join(CACHE, packages.join('+').replace(/[^\w.+=-]/g, '_'))
  let known = installing.get(directory)
  if (known === undefined) installing.set(directory, (known = installOnce(directory, into)))
  return known
}

/** Installs into a directory, or uses the installation that another process made meanwhile. */
async function installOnce(directory: string, into: (directory: string) => Promise<unknown>): Promise<Installed> {
  if (existsSync(directory)) return { directory }
  mkdirSync(CACHE, { recursive: true })
  const fresh = mkdtempSync(`${directory}.`)
  let late: NodeJS.Timeout | undefined
  const tooLate = new Promise<never>((_, reject) => {
    late = setTimeout(() => reject(new Error('the registry is too slow')), INSTALL_TIMEOUT_MS)
  })
  try {
    await Promise.race([into(fresh), tooLate])
    renameSync(fresh, directory)
    return { directory }
  } catch (cause) {
    rmSync(fresh, { recursive: true, force: true })
    if (existsSync(directory)) return { directory }
    return { missing: cause instanceof Error ? cause.message : String(cause) }
  } finally {
    clearTimeout(late)
  }
}

export interface ClientRun {
  readonly code: number | null
  readonly output: string
}

export interface ClientOptions {
  readonly cwd: string
  readonly home: string
  readonly env: Readonly<Record<string, string>>
  /** Port of the gateway at 127.0.0.1; the client can reach nothing else. */
  readonly port: number
  /** Default: two minutes. */
  readonly timeoutMs?: number
}

const INSIDE = fileURLToPath(new URL('network-with-one-port.mjs', import.meta.url))

/** The reason why clients cannot run here, or null. Each runs in a network namespace, so that no request leaves the machine. */
export async function cannotRunClients(): Promise<string | null> {
  try {
    await run('unshare', ['--net', 'ip', 'link', 'set', 'lo', 'up'])
    return null
  } catch (cause) {
    return `no network of its own can be made for a client: ${cause instanceof Error ? cause.message : String(cause)}`
  }
}

/**
 * Runs a client to its end. Its environment has only `env` and a new home; its network has only the gateway. A client that takes
 * too long is ended with all its children.
 */
export async function runClient(
  command: readonly [string, ...string[]],
  { cwd, home, env, port, timeoutMs = RUN_TIMEOUT_MS }: ClientOptions,
): Promise<ClientRun> {
  const door = await Door.open(port)
  const { PATH = '' } = process.env
  const inside = [process.execPath, INSIDE, door.path, String(port), ...command]
  const child = spawn('unshare', ['--net', 'sh', '-c', 'ip link set lo up && exec "$@"', 'sh', ...inside], {
    cwd,
    env: { PATH, HOME: home, TMPDIR: home, TERM: 'dumb', CI: '1', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  endWithThisProcess(child, 'KILL')
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const { pid } = child
  const late = setTimeout(() => {
    output += `\nended after ${timeoutMs} ms`
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  }, timeoutMs)
  try {
    const [code] = (await once(child, 'close')) as [number | null]
    return { code, output }
  } finally {
    clearTimeout(late)
    await door.close()
  }
}

/** A Unix socket that forwards to a port of 127.0.0.1: network namespaces share the file system. */
class Door {
  readonly path: string
  readonly #directory = mkdtempSync(join(tmpdir(), 'sluice-door-'))
  readonly #sockets = new Set<Socket>()
  readonly #server: Server

  private constructor(port: number) {
    this.path = join(this.#directory, 'door.sock')
    this.#server = createServer((client) => {
      const gateway = connect(port, '127.0.0.1')
      this.#join(client, gateway)
      this.#join(gateway, client)
    })
  }

  static async open(port: number): Promise<Door> {
    const door = new Door(port)
    door.#server.listen(door.path)
    await once(door.#server, 'listening')
    return door
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
    await closed
    rmSync(this.#directory, { recursive: true, force: true })
  }

  #join(from: Socket, to: Socket): void {
    this.#sockets.add(from)
    from.pipe(to)
    from.on('error', () => to.destroy())
    from.on('close', () => {
      this.#sockets.delete(from)
      to.destroy()
    })
  }
}
