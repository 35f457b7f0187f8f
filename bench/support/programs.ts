import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { setPriority, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as elapsed } from 'node:timers/promises'
import { generateApiKey } from '../../src/shared/core/api-key.ts'
import { endWithThisProcess } from '../../test/support/end-with-this-process.ts'

const DIST = resolve('dist')
const MAX_WAIT_MS = 60_000
/** A model whose upstream speaks the messages protocol. */
export const TRANSLATED_MODEL = 'sim-translated'
const POLL_MS = 50

/** A program under load. */
export interface Program {
  readonly pid: number
  /** Base URL of the chat protocol, `/v1` included. */
  readonly baseUrl: string
  readonly headers: Readonly<Record<string, string>>
  /** Resolves when all work after the answers is done. @param requestId that of the last answer */
  settled(requestId: string): Promise<void>
  stop(): Promise<void>
}

export interface Gateway extends Program {
  /** URL of the management API. */
  readonly url: string
  readonly admin: Admin
}

export interface Admin {
  readonly phone: string
  readonly password: string
  /** Token of an open session. */
  readonly token: string
}

/** Starts the simulator as a separate process. @param niceness a higher value gives way to other processes */
export async function startSimulator(niceness = 0): Promise<Program> {
  const child = spawn(process.execPath, [join(DIST, 'simulator/main.js')], {
    env: { ...process.env, SIMULATOR_PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  endWithThisProcess(child, 'KILL')
  const line = await firstMatch(child, /"port":\s*(\d+)/)
  setPriority(child.pid ?? 0, niceness)
  return {
    pid: child.pid ?? 0,
    baseUrl: `http://127.0.0.1:${line}/v1`,
    headers: {},
    settled: () => Promise.resolve(),
    stop: () => end(child),
  }
}

export interface GatewayChoice {
  readonly upstreamBaseUrl: string
  /** Upstream of `TRANSLATED_MODEL`; default: `upstreamBaseUrl`. */
  readonly otherBaseUrl?: string
  /** Directory for a CPU profile of each process. */
  readonly profileDir?: string | null
  /** Members of the entry key, as in the configuration file. */
  readonly key?: object
  /** Further sections of the configuration file. */
  readonly config?: object
  /** Directory of the build; default: that of this checkout. */
  readonly dist?: string
}

/** Starts a gateway with one front. */
export async function startGateway(choice: GatewayChoice): Promise<Gateway> {
  const { upstreamBaseUrl, otherBaseUrl = upstreamBaseUrl, profileDir = null, dist = DIST } = choice
  const dataDir = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
  const key = generateApiKey()
  const file = join(dataDir, 'bench.yaml')
  const keys = [{ credential: 'bench', max_concurrency: 100_000 }]
  const config = {
    server: { host: '127.0.0.1', port: 0, fronts: 1, drain_announce_ms: 0 },
    data_dir: dataDir,
    log: { level: 'warn' },
    keys: [{ name: 'bench', key, ...choice.key }],
    upstreams: [
      { id: 'bench', dialect: 'openai-chat', base_url: upstreamBaseUrl, keys, models: ['sim-gpt'] },
      { id: 'other', dialect: 'anthropic-messages', base_url: otherBaseUrl, keys, models: [TRANSLATED_MODEL] },
    ],
    ...choice.config,
  }
  writeFileSync(file, JSON.stringify(config))
  const profiling = profileDir === null ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileDir}`]
  const child = spawn(process.execPath, [...profiling, join(dist, 'main.js'), '--config', file], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  endWithThisProcess(child, 'KILL', dataDir)
  const url = await firstMatch(child, /ready at (\S+)/)
  const admin = await logIn(url, dataDir)
  return {
    pid: child.pid ?? 0,
    baseUrl: `${url}/v1`,
    url,
    admin,
    headers: { authorization: `Bearer ${key}` },
    // The records of one front are settled in journal order: when this row exists, all earlier ones do.
    settled: (requestId) => answers(`${url}/v1/admin/logs/${requestId}`, { authorization: `Bearer ${admin.token}` }),
    stop: async () => {
      await end(child)
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

async function logIn(url: string, dataDir: string): Promise<Admin> {
  const { admin } = JSON.parse(readFileSync(join(dataDir, 'first-run.json'), 'utf8')) as { admin: Omit<Admin, 'token'> }
  const login = await fetch(`${url}/api/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(admin),
  })
  const { token } = (await login.json()) as { token: string }
  return { ...admin, token }
}

/** Waits until a URL answers with success. Rejects after a minute. */
export async function answers(url: string, headers: Readonly<Record<string, string>> = {}): Promise<void> {
  const endMs = Date.now() + MAX_WAIT_MS
  while (Date.now() < endMs) {
    const answer = await fetch(url, { headers }).catch(() => null)
    await answer?.arrayBuffer()
    if (answer?.ok === true) return
    await elapsed(POLL_MS)
  }
  throw new Error(`no success from ${url}`)
}

async function firstMatch(child: ChildProcess, pattern: RegExp): Promise<string> {
  if (child.stdout === null) throw new Error('the program has no output')
  for await (const line of createInterface({ input: child.stdout })) {
    const found = pattern.exec(line)?.[1]
    if (found !== undefined) {
      child.stdout.resume()
      return found
    }
  }
  throw new Error('the program ended before it was ready')
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  await exited
}
