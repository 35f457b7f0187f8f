import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { setPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as elapsed } from 'node:timers/promises'
import { endWithThisProcess } from './end-with-this-process.ts'

const MAX_WAIT_MS = 60_000
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

/** Starts the simulator as a separate process. @param dist directory of the build @param niceness a higher value gives way to other processes */
export async function startSimulator(dist: string, niceness = 0): Promise<Program> {
  const child = spawn(process.execPath, [join(dist, 'simulator/main.js')], {
    env: { ...ownEnvironment(), SIMULATOR_PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  endWithThisProcess(child, 'KILL')
  const port = await firstMatch(child, /"port":\s*(\d+)/)
  setPriority(child.pid ?? 0, niceness)
  return {
    pid: child.pid ?? 0,
    baseUrl: `http://127.0.0.1:${port}/v1`,
    headers: {},
    settled: () => Promise.resolve(),
    stop: () => end(child),
  }
}

export interface GatewayPlan {
  /** Directory of the build. */
  readonly dist: string
  /** The entry key of the load. `config.keys` has it, too. */
  readonly key: string
  /** The configuration file, without `data_dir`. */
  readonly config: object
  /** Options of Node. */
  readonly nodeOptions?: readonly string[]
}

/** Starts a gateway with a new data directory. */
export async function startGateway({ dist, key, config, nodeOptions = [] }: GatewayPlan): Promise<Gateway> {
  const dataDir = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
  const file = join(dataDir, 'bench.yaml')
  writeFileSync(file, JSON.stringify({ ...config, data_dir: dataDir }), { mode: 0o600 })
  const child = spawn(process.execPath, [...nodeOptions, join(dist, 'main.js'), '--config', file], {
    env: ownEnvironment(),
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

/** Leaves out the variables of a gateway: an operator's shell may name the database of a real one, or keys of providers. */
function ownEnvironment(): Record<string, string> {
  const kept = ['PATH', 'HOME', 'TMPDIR', 'SLUICE_UWS_BUILD'].flatMap((name) => {
    const value = process.env[name]
    return value === undefined ? [] : [[name, value] as const]
  })
  return Object.fromEntries(kept)
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

/** The first line that matches. Ends the program and rejects after a minute. */
async function firstMatch(child: ChildProcess, pattern: RegExp): Promise<string> {
  if (child.stdout === null) throw new Error('the program has no output')
  const late = setTimeout(() => child.kill('SIGKILL'), MAX_WAIT_MS)
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      const found = pattern.exec(line)?.[1]
      if (found === undefined) continue
      child.stdout.resume()
      return found
    }
  } finally {
    clearTimeout(late)
  }
  throw new Error('the program ended before it was ready')
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  await exited
}
