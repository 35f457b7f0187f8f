import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { commitOf } from '../../src/cli/bench/machine.ts'
import type { Program } from '../../src/cli/bench/programs.ts'
import { freePort } from '../../test/support/free-port.ts'
import { startPostgres } from '../../test/support/postgres.ts'
import { nginxVersion, startNginx } from '../support/nginx.ts'
import { startGateway } from '../support/programs.ts'
import { startProcess } from './peer.ts'
import type { Peer, PeerProcess } from './peer.ts'

/** The parameters of all starters. */
export interface Surroundings {
  /** The folder of `install.sh`. */
  readonly dir: string
  /** The simulator. */
  readonly upstream: Program
}

/** Starts a program; resolves to null when it is not installed. */
type Starter = (surroundings: Surroundings) => Promise<Peer | null>

const MESSAGES_VERSION = { 'anthropic-version': '2023-06-01' }
/** Upstream key; the simulator takes any. */
const KEY = 'sk-bench'

/** The programs by the names that `--peers` takes, in the order of the table. */
export const STARTERS: Readonly<Record<string, Starter>> = {
  nginx: startNginxPeer,
  haproxy: startHaproxy,
  sluice: (surroundings) => startSluice(surroundings, 'sluice'),
  'sluice-postgres': startSluiceOnPostgres,
  portkey: startPortkey,
  litellm: startLitellm,
}

/** The upstream without any program before it. */
export function direct({ upstream }: Surroundings): Peer {
  return { ...upstream, name: 'upstream', version: '', pids: [upstream.pid], messages: null }
}

async function startSluice({ upstream }: Surroundings, name: string, config: object = {}): Promise<Peer> {
  const gateway = await startGateway({ upstreamBaseUrl: upstream.baseUrl, config })
  const { pid, baseUrl, headers } = gateway
  return {
    ...gateway,
    name,
    version: commitOf('.'),
    pids: [pid],
    messages: { baseUrl, path: '/messages', headers: { ...headers, ...MESSAGES_VERSION } },
  }
}

/** Processor and memory of Postgres count as the gateway's. */
async function startSluiceOnPostgres(surroundings: Surroundings): Promise<Peer> {
  const postgres = await startPostgres()
  try {
    const url = await postgres.createDatabase()
    const gateway = await startSluice(surroundings, 'sluice-postgres', { database: { url } })
    return {
      ...gateway,
      version: `${gateway.version}, Postgres ${await postgresVersion(url)}`,
      pids: [...gateway.pids, postgres.pid()],
      stop: async () => {
        await gateway.stop()
        await postgres.stop()
      },
    }
  } catch (cause) {
    await postgres.stop()
    throw cause
  }
}

async function postgresVersion(url: string): Promise<string> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000, query_timeout: 5_000 })
  try {
    await client.connect()
    const { rows } = await client.query<{ server_version: string }>('SHOW server_version')
    return rows[0]?.server_version ?? 'unknown'
  } finally {
    await client.end()
  }
}

async function startNginxPeer({ dir, upstream }: Surroundings): Promise<Peer | null> {
  const installed = join(dir, 'debian/usr/sbin/nginx')
  const binary = existsSync(installed) ? installed : 'nginx'
  const version = nginxVersion(binary)
  if (version === null) return null
  const program = await startNginx(upstream.baseUrl, 'off', binary)
  return { ...program, name: 'nginx', version, pids: [program.pid], messages: null }
}

async function startHaproxy({ dir, upstream }: Surroundings): Promise<Peer | null> {
  const installed = join(dir, 'debian/usr/sbin/haproxy')
  const command = existsSync(installed) ? installed : '/usr/sbin/haproxy'
  const env = { LD_LIBRARY_PATH: join(dir, 'debian/usr/lib', libraryFolder(dir)) }
  const { status, stdout } = spawnSync(command, ['-v'], { encoding: 'utf8', env })
  if (status !== 0) return null
  const port = await freePort()
  const baseUrl = `http://127.0.0.1:${port}/v1`
  const started = await startProcess({
    command,
    args: (home) => ['-db', '-f', written(home, 'haproxy.cfg', haproxyConfiguration(port, upstream))],
    env,
    readyUrl: `${baseUrl}/models`,
  })
  return plainPeer('haproxy', /version (\S+)/.exec(stdout)?.[1] ?? 'unknown', baseUrl, started)
}

/** The folder of Debian's libraries for this processor. */
function libraryFolder(dir: string): string {
  const libraries = join(dir, 'debian/usr/lib')
  if (!existsSync(libraries)) return ''
  return readdirSync(libraries).find((name) => name.endsWith('-linux-gnu')) ?? ''
}

/** One thread, keep-alive on both sides, no log. */
function haproxyConfiguration(port: number, upstream: Program): string {
  return `global
  nbthread 1
  maxconn 8000
defaults
  mode http
  option http-no-delay
  http-reuse always
  timeout connect 5s
  timeout client 1h
  timeout server 1h
frontend clients
  bind 127.0.0.1:${port} backlog 4096
  default_backend simulator
backend simulator
  server simulator ${new URL(upstream.baseUrl).host}
`
}

async function startPortkey({ dir, upstream }: Surroundings): Promise<Peer | null> {
  const folder = join(dir, 'portkey/node_modules/@portkey-ai/gateway')
  if (!existsSync(folder)) return null
  const port = await freePort()
  const baseUrl = `http://127.0.0.1:${port}/v1`
  const headers = {
    authorization: `Bearer ${KEY}`,
    'x-portkey-provider': 'openai',
    'x-portkey-custom-host': upstream.baseUrl,
  }
  const started = await startProcess({
    command: process.execPath,
    args: () => [join(folder, 'build/start-server.js'), `--port=${port}`, '--headless'],
    env: { NODE_ENV: 'production', TRUSTED_CUSTOM_HOSTS: '127.0.0.1' },
    readyUrl: `http://127.0.0.1:${port}/`,
  })
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string }
  return { ...plainPeer('portkey', version, baseUrl, started), headers }
}

async function startLitellm({ dir, upstream }: Surroundings): Promise<Peer | null> {
  const folder = join(dir, 'litellm')
  const command = join(folder, 'bin/litellm')
  if (!existsSync(command)) return null
  const port = await freePort()
  const origin = `http://127.0.0.1:${port}`
  const headers = { authorization: `Bearer ${KEY}` }
  const started = await startProcess({
    command,
    args: (home) => {
      const file = written(home, 'config.yaml', JSON.stringify(litellmConfiguration(upstream)))
      return ['--config', file, '--host', '127.0.0.1', '--port', String(port), '--num_workers', '1']
    },
    env: {
      LITELLM_MODE: 'PRODUCTION',
      LITELLM_LOG: 'ERROR',
      // These lists come with the package; otherwise it asks for them at the start.
      LITELLM_LOCAL_MODEL_COST_MAP: 'True',
      LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS: 'True',
      LITELLM_LOCAL_BLOG_POSTS: 'True',
      LITELLM_LOCAL_AUTOROUTER_PRESETS: 'True',
      LITELLM_LOCAL_POLICY_TEMPLATES: 'True',
      DISABLE_ADMIN_UI: 'True',
      NO_DOCS: 'True',
    },
    readyUrl: `${origin}/health/liveliness`,
  })
  const baseUrl = `${origin}/v1`
  return {
    ...plainPeer('litellm', litellmVersion(folder), baseUrl, started),
    headers,
    messages: { baseUrl, path: '/messages', headers: { ...headers, ...MESSAGES_VERSION } },
  }
}

function litellmConfiguration(upstream: Program): object {
  const model = { model: 'openai/sim-gpt', api_base: upstream.baseUrl, api_key: KEY }
  return {
    model_list: [{ model_name: 'sim-gpt', litellm_params: model }],
    litellm_settings: { telemetry: false, use_chat_completions_url_for_anthropic_messages: true },
    general_settings: { master_key: KEY },
  }
}

/** Read from the names of folders: running pip would take a second. */
function litellmVersion(folder: string): string {
  const lib = join(folder, 'lib')
  for (const python of readdirSync(lib)) {
    for (const name of readdirSync(join(lib, python, 'site-packages'))) {
      const version = /^litellm-([\d.]+)\.dist-info$/.exec(name)?.[1]
      if (version !== undefined) return version
    }
  }
  return 'unknown'
}

function plainPeer(name: string, version: string, baseUrl: string, { pid, stop }: PeerProcess): Peer {
  return { name, version, baseUrl, headers: {}, pids: [pid], messages: null, settled: () => Promise.resolve(), stop }
}

function written(directory: string, name: string, content: string): string {
  const file = join(directory, name)
  writeFileSync(file, content, { mode: 0o600 })
  return file
}
