import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { generateApiKey } from '../../src/core/api-key.ts'

const DIST = resolve('dist')

/** A program under load, on an address of its own. */
export interface Program {
  readonly pid: number
  /** Base URL of the chat protocol, `/v1` included. */
  readonly baseUrl: string
  readonly headers: Readonly<Record<string, string>>
  stop(): Promise<void>
}

/** The simulator, as a process of its own. */
export async function startSimulator(): Promise<Program> {
  const child = spawn(process.execPath, [join(DIST, 'simulator/main.js')], {
    env: { ...process.env, SIMULATOR_PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const line = await firstMatch(child, /"port":\s*(\d+)/)
  return { pid: child.pid ?? 0, baseUrl: `http://127.0.0.1:${line}/v1`, headers: {}, stop: () => end(child) }
}

/** A gateway with one front before an upstream; with `profileDir` each of its processes leaves a CPU profile there. */
export async function startGateway(upstreamBaseUrl: string, profileDir: string | null): Promise<Program> {
  const dataDir = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
  const key = generateApiKey()
  const file = join(dataDir, 'bench.yaml')
  const config = {
    server: { host: '127.0.0.1', port: 0, fronts: 1, drain_announce_ms: 0 },
    data_dir: dataDir,
    log: { level: 'warn' },
    keys: [{ name: 'bench', key }],
    upstreams: [
      {
        id: 'bench',
        dialect: 'openai-chat',
        base_url: upstreamBaseUrl,
        keys: [{ credential: 'bench', max_concurrency: 100_000 }],
        models: ['sim-gpt'],
      },
    ],
  }
  writeFileSync(file, JSON.stringify(config))
  const profiling = profileDir === null ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileDir}`]
  const child = spawn(process.execPath, [...profiling, join(DIST, 'main.js'), '--config', file], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const url = await firstMatch(child, /ready at (\S+)/)
  return {
    pid: child.pid ?? 0,
    baseUrl: `${url}/v1`,
    headers: { authorization: `Bearer ${key}` },
    stop: async () => {
      await end(child)
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
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
