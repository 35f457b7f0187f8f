import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { endWithThisProcess } from './end-with-this-process.ts'

// Programs and libraries of others that tests install when they run, of exact versions, and keep for the next run.

const CACHE = join(tmpdir(), 'sluice-test-clients')
const INSTALL_TIMEOUT_MS = 240_000
const RUN_TIMEOUT_MS = 120_000
const run = promisify(execFile)

/** Where packages were installed, or why they could not be. */
export type Installed = { readonly directory: string } | { readonly missing: string }

/** Installs packages of npm (`name@1.2.3`) side by side; no script of theirs is run. */
export function installFromNpm(packages: readonly string[]): Promise<Installed> {
  const quiet = ['--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error']
  return install(packages, (directory) => run('npm', ['install', '--prefix', directory, ...quiet, ...packages]))
}

/** Installs packages of PyPI (`name==1.2.3`) into a virtual environment: `bin/python` in it has them. */
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

/** What another process has installed meanwhile is used. */
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
  /** What it asked a proxy for: addresses that are not on this machine. None was let through. */
  readonly outside: readonly string[]
}

/**
 * Runs a client to its end with nothing in its environment but `env`, a home of its own and proxies that refuse all but this
 * machine. One that takes too long is ended with all its children.
 */
export async function runClient(
  command: readonly [string, ...string[]],
  { cwd, home, env }: { readonly cwd: string; readonly home: string; readonly env: Readonly<Record<string, string>> },
): Promise<ClientRun> {
  const proxy = await RefusingProxy.start()
  const [file, ...args] = command
  const { PATH = '' } = process.env
  const child = spawn(file, args, {
    cwd,
    env: { PATH, HOME: home, TMPDIR: home, TERM: 'dumb', CI: '1', ...proxy.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  endWithThisProcess(child, 'KILL')
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const { pid } = child
  const late = setTimeout(() => {
    output += `\nended after ${RUN_TIMEOUT_MS} ms`
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  }, RUN_TIMEOUT_MS)
  try {
    const [code] = (await once(child, 'close')) as [number | null]
    return { code, output, outside: proxy.asked }
  } finally {
    clearTimeout(late)
    await proxy.close()
  }
}

/** Answers 403 to whoever wants something from elsewhere. */
class RefusingProxy {
  readonly asked: string[] = []
  readonly #server = createServer((request, response) => {
    this.asked.push(request.url ?? '')
    response.writeHead(403).end()
  })

  static async start(): Promise<RefusingProxy> {
    const proxy = new RefusingProxy()
    proxy.#server.on('connect', (request, socket) => {
      proxy.asked.push(request.url ?? '')
      socket.on('error', () => undefined)
      socket.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n')
    })
    proxy.#server.listen(0, '127.0.0.1')
    await once(proxy.#server, 'listening')
    return proxy
  }

  get env(): Record<string, string> {
    const url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
    const here = '127.0.0.1,localhost,::1'
    const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'http_proxy', 'https_proxy', 'all_proxy']
    return { ...Object.fromEntries(names.map((name) => [name, url])), NO_PROXY: here, no_proxy: here }
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.#server.closeAllConnections()
    await closed
  }
}
