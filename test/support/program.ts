import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { inject } from 'vitest'
import { eventually } from './eventually.ts'
import { QUICK_START } from './quick-start.ts'
import { createTestDatabase } from './test-database.ts'

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url))
const READY = /^Sluice is ready at (\S+)/m

/** The gateway as its operator sees it: arguments, environment, working directory, output and exit code. */
export interface Program {
  readonly pid: number
  /** Standard output so far. */
  stdout(): string
  /** Standard error so far. */
  stderr(): string
  signal(signal: NodeJS.Signals): void
  /** Waits for the ready line and returns its address. Rejects with all output when the program ends before. */
  ready(): Promise<string>
  /** The exit code; null when a signal ended the program. */
  readonly ended: Promise<number | null>
  /** Sends SIGTERM, unless the program has ended. */
  stop(): Promise<number | null>
}

const running = new Set<Program>()

process.once('exit', () => {
  for (const program of running) program.signal('SIGTERM')
})

/** Ends all programs that a test left running; for `afterEach`. */
export async function stopPrograms(): Promise<void> {
  await Promise.all([...running].map((program) => program.stop()))
}

/** Starts the program in `cwd`; its environment has only `env` and a PATH. */
export function runProgram(cwd: string, env: Record<string, string>, args: readonly string[] = []): Program {
  const { PATH = '' } = process.env
  const child = spawn(process.execPath, [...QUICK_START, MAIN, ...args], {
    cwd,
    env: { PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
  // `close`, not `exit`: all output has been read then.
  const ended = once(child, 'close').then(([code]) => code as number | null)
  const early = ended.then((code) => {
    throw new Error(`the program ended with ${code} before it was ready:\n${stdout}\n${stderr}`)
  })
  early.catch(() => undefined)
  const isRunning = (): boolean => child.exitCode === null && child.signalCode === null
  const program: Program = {
    pid: child.pid ?? 0,
    stdout: () => stdout,
    stderr: () => stderr,
    signal: (signal) => void child.kill(signal),
    ready: () => Promise.race([early, readyUrl(() => stdout)]),
    ended,
    stop: () => {
      if (isRunning()) child.kill('SIGTERM')
      return ended
    },
  }
  running.add(program)
  void ended.then(() => running.delete(program))
  return program
}

/** Copies an embedded database that is already created, which saves seconds. */
export function copyMadeDatabase(dataDir: string): void {
  mkdirSync(dataDir, { recursive: true })
  if (inject('database') === 'pglite') cpSync(inject('pgliteTemplate'), dataDir, { recursive: true })
}

/** Environment variables for the database of the vitest project: none, or `DATABASE_URL` of an empty Postgres database. */
export async function databaseEnv(): Promise<Record<string, string>> {
  return inject('database') === 'pglite' ? {} : { DATABASE_URL: await createTestDatabase(inject('postgresUrl')) }
}

/** Requests a chat completion. */
export function askChat(url: string, apiKey: string, model: string, content = 'hi'): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content }] }),
  })
}

function readyUrl(stdout: () => string): Promise<string> {
  return eventually(
    () => {
      const url = READY.exec(stdout())?.[1]
      if (url === undefined) throw new Error(`not ready:\n${stdout()}`)
      return url
    },
    { timeoutMs: 80_000 },
  )
}
