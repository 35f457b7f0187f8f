import type { UpstreamDialectName } from '../../src/shared/core/endpoint.ts'
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inject } from 'vitest'
import { generateApiKey } from '../../src/shared/core/api-key.ts'
import { endWithThisProcess } from '../../src/cli/bench/end-with-this-process.ts'
import { eventually } from './eventually.ts'
import { QUICK_START } from './quick-start.ts'
import { createTestDatabase } from './test-database.ts'

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url))
const READY = /Sluice is ready at (\S+)/
const START_TIMEOUT_MS = 60_000
/** Settlement has low priority: on a busy machine rows appear late. */
const ROW_PATIENCE = { timeoutMs: 40_000 }

/** One upstream of a test gateway: a simulator or another server. */
export interface TestUpstream {
  readonly id?: string
  readonly dialect: UpstreamDialectName
  /** Base URL, `/v1` included. */
  readonly baseUrl: string
  readonly models: readonly string[]
  readonly keys?: ReadonlyArray<Record<string, unknown>>
  readonly more?: Record<string, unknown>
}

export interface GatewayOptions {
  readonly upstreams?: readonly TestUpstream[]
  /** Further entry keys besides the default one; members as in the configuration file. */
  readonly keys?: ReadonlyArray<Record<string, unknown>>
  /** Sections of the configuration file, merged over those made from the other options. */
  readonly config?: Record<string, unknown>
  readonly env?: Record<string, string>
  readonly fronts?: number
  /** Default: the database of the vitest project. */
  readonly database?: 'pglite' | 'postgres' | { readonly url: string }
  /** Data directory, which is not deleted; default: a new one. */
  readonly dataDir?: string
  /** Limit of open files and sockets of each process. */
  readonly openFiles?: number
  /** Default: a new key. */
  readonly apiKey?: string
}

export interface LogRow {
  readonly id: string
  readonly time: string
  readonly status: number | null
  readonly model: string | null
  readonly endpoint: string
  readonly dialect: string
  readonly error_type: string | null
  readonly error_code: string | null
  readonly settlement: string
  readonly total_us: number
  readonly aborted: boolean
  readonly stream: boolean
  readonly attempts: number
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly cached_tokens: number
  readonly reasoning_tokens: number
  readonly user_agent: string
  readonly client_address: string
  readonly client_request_id: string | null
  readonly key: string | null
  readonly key_id: string | null
  readonly upstream_key_id: string | null
  readonly served_model: string | null
}

/** A real gateway: all processes, on a free port, with a separate data directory. */
export class TestGateway {
  readonly url: string
  readonly port: number
  readonly dataDir: string
  /** An entry key without limits. */
  readonly apiKey: string
  readonly databaseUrl: string | null
  readonly #child: ChildProcess
  readonly #output: () => string
  readonly #keepDataDir: boolean
  #token: string | null = null

  constructor(parts: {
    url: string
    dataDir: string
    apiKey: string
    databaseUrl: string | null
    child: ChildProcess
    output: () => string
    keepDataDir: boolean
  }) {
    this.url = parts.url
    this.port = Number(new URL(parts.url).port)
    this.dataDir = parts.dataDir
    this.apiKey = parts.apiKey
    this.databaseUrl = parts.databaseUrl
    this.#child = parts.child
    this.#output = parts.output
    this.#keepDataDir = parts.keepDataDir
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  /** Everything that the processes wrote to their standard streams. */
  get output(): string {
    return this.#output()
  }

  /** The current processes under the supervisor. */
  children(): Array<{ kind: 'control' | 'front' | 'simulator'; pid: number }> {
    return readdirSync('/proc').flatMap((entry) => {
      const pid = Number(entry)
      if (!Number.isInteger(pid)) return []
      const stat = readProc(pid, 'stat')
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      if (Number(fields[1]) !== this.pid || fields[0] === 'Z') return []
      const kind = /\/dist\/(control|front|simulator)\/main\.js/.exec(readProc(pid, 'cmdline'))
      const name = kind?.[1]
      return name === undefined ? [] : [{ kind: name as 'control' | 'front' | 'simulator', pid }]
    })
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  /** Sends SIGTERM and waits for the end; resolves to the exit code. */
  async stop(): Promise<number | null> {
    const code = await this.end('SIGTERM')
    if (!this.#keepDataDir) rmSync(this.dataDir, { recursive: true, force: true })
    return code
  }

  /** Sends a signal and waits for the supervisor's end; the data directory stays. */
  async end(signal: NodeJS.Signals): Promise<number | null> {
    const over = this.over()
    this.#child.kill(signal)
    return over
  }

  /** Waits for the supervisor's end. Resolves to its exit code; null: a signal ended it. */
  async over(): Promise<number | null> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) await once(this.#child, 'exit')
    return this.#child.exitCode
  }

  /** A management token of the first admin. */
  async adminToken(): Promise<string> {
    if (this.#token !== null) return this.#token
    const { admin } = JSON.parse(readFileSync(join(this.dataDir, 'first-run.json'), 'utf8')) as { admin: unknown }
    const response = await fetch(`${this.url}/api/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(admin),
    })
    if (!response.ok) throw new Error(`login failed: ${response.status} ${await response.text()}`)
    const { token } = (await response.json()) as { token: string }
    this.#token = token
    return token
  }

  /** Every settled row of the request log, newest first. */
  async logRows(filter: Record<string, string> = {}): Promise<LogRow[]> {
    const rows: LogRow[] = []
    let cursor: string | null = null
    do {
      const query: URLSearchParams = new URLSearchParams({ limit: '100', ...filter })
      if (cursor !== null) query.set('cursor', cursor)
      const response = await fetch(`${this.url}/v1/admin/logs?${query.toString()}`, {
        headers: { authorization: `Bearer ${await this.adminToken()}` },
      })
      if (!response.ok) throw new Error(`the log cannot be read: ${response.status} ${await response.text()}`)
      const page = (await response.json()) as { data: LogRow[]; next_cursor: string | null }
      rows.push(...page.data)
      cursor = page.next_cursor
    } while (cursor !== null)
    return rows
  }

  /** Waits until a request is settled and returns its row. */
  logRow(requestId: string): Promise<LogRow> {
    return eventually(async () => {
      const [row] = await this.logRows({ request_id: requestId })
      if (row === undefined) throw new Error(`no row for ${requestId}`)
      return row
    }, ROW_PATIENCE)
  }
}

/** Starts a gateway from `dist` and resolves when it is ready. Rejects with its output when it ends before that. */
export async function startGateway(options: GatewayOptions = {}): Promise<TestGateway> {
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), 'sluice-test-'))
  const apiKey = options.apiKey ?? generateApiKey()
  const databaseUrl = await databaseUrlOf(options.database ?? inject('database'))
  if (databaseUrl === null && options.dataDir === undefined) {
    cpSync(inject('pgliteTemplate'), dataDir, { recursive: true })
  }
  const file = join(dataDir, 'test-config.yaml')
  writeFileSync(file, JSON.stringify(configOf(options, apiKey)))
  const env = {
    PORT: '0',
    HOST: '127.0.0.1',
    SLUICE_DATA_DIR: dataDir,
    ...(databaseUrl === null ? {} : { DATABASE_URL: databaseUrl }),
    ...options.env,
  }
  const { child, output } = spawnGateway(['--config', file], env, options.openFiles)
  const url = await readyUrl(child, output).catch((cause: unknown) => {
    // The caller gets no gateway that it could stop.
    child.kill()
    throw cause
  })
  return new TestGateway({
    url,
    dataDir,
    apiKey,
    databaseUrl,
    child,
    output,
    keepDataDir: options.dataDir !== undefined,
  })
}

/** Starts the program, for tests of its start and its failures. Its environment has only the given variables. */
export function spawnGateway(
  args: readonly string[],
  env: Record<string, string>,
  openFiles?: number,
): { child: ChildProcess; output: () => string } {
  const { PATH = '', HOME = '', SLUICE_UWS_BUILD = '' } = process.env
  const limited = openFiles === undefined ? [] : ['sh', '-c', `ulimit -n ${openFiles} && exec "$0" "$@"`]
  const [program = '', ...rest] = [...limited, process.execPath, ...QUICK_START, MAIN, ...args]
  const child = spawn(program, rest, {
    env: { PATH, HOME, SLUICE_UWS_BUILD, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    cwd: tmpdir(),
  })
  // The other processes of the gateway end with the supervisor.
  endWithThisProcess(child, 'KILL')
  let text = ''
  const collect = (chunk: Buffer): void => {
    text += chunk.toString()
  }
  child.stdout.on('data', collect)
  child.stderr.on('data', collect)
  return { child, output: () => text }
}

/** The address in the ready line. */
export async function readyUrl(child: ChildProcess, output: () => string): Promise<string> {
  const ended = once(child, 'exit').then(() => {
    throw new Error(`the gateway ended before it was ready:\n${output()}`)
  })
  const ready = eventually(
    () => {
      const url = READY.exec(output())?.[1]
      if (url === undefined) throw new Error(`not ready:\n${output()}`)
      return url
    },
    { timeoutMs: START_TIMEOUT_MS },
  )
  ended.catch(() => undefined)
  return Promise.race([ready, ended])
}

function configOf(options: GatewayOptions, apiKey: string): Record<string, unknown> {
  const upstreams = options.upstreams?.map((upstream, index) => ({
    id: upstream.id ?? `upstream-${index}`,
    dialect: upstream.dialect,
    base_url: upstream.baseUrl,
    keys: upstream.keys ?? [{ credential: `upstream-credential-${index}` }],
    models: upstream.models,
    ...upstream.more,
  }))
  const { server, ...sections } = options.config ?? {}
  return {
    server: { fronts: options.fronts ?? 1, drain_announce_ms: 100, ...(server as object | undefined) },
    keys: [{ name: 'test', key: apiKey }, ...(options.keys ?? [])],
    // The machine of the tests may stall for seconds: only tests of overload should see load shedding.
    overload: { loop_delay_ms: 10_000 },
    ...(upstreams === undefined ? {} : { upstreams }),
    ...sections,
  }
}

async function databaseUrlOf(choice: 'pglite' | 'postgres' | { readonly url: string }): Promise<string | null> {
  if (choice === 'pglite') return null
  return choice === 'postgres' ? createTestDatabase(inject('postgresUrl'), 'schema') : choice.url
}

function readProc(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8')
  } catch {
    return ''
  }
}
