import { execFileSync, spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { cpus, loadavg, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as elapsed } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { cpuUsSince } from '../../src/cli/bench/process-use.ts'
import { startPostgres } from '../../test/support/postgres.ts'
import { residentMbOfGateway } from '../support/resident-memory.ts'
import { median } from '../support/statistics.ts'

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '3' } } })

/** The promised times from `npm start` to the first piece of a streamed answer, on two idle cores. */
const MAX_MS = {
  'first start of a clone': 10_000,
  'second start': 3_000,
  'second start, Postgres': 2_000,
} as const
const DEADLINE_MS = 180_000
/** After the first answer, until memory is measured. */
const REST_MS = 5_000
/** Of the tree that npm starts; `dist` is the supervisor. */
const PROCESSES = ['dist', 'front', 'control', 'simulator'] as const
const READY = /^Sluice is ready at (\S+)/
const BODY = JSON.stringify({ model: 'sim-gpt', stream: true, messages: [{ role: 'user', content: 'Say hello' }] })

interface Step {
  readonly ms: number
  readonly what: string
}

interface Start {
  readonly steps: readonly Step[]
  /** Seconds of CPU until the first piece of an answer, by process. */
  readonly cpuS: readonly number[]
  /** Mebibytes of resident memory after a rest, by process. */
  readonly residentMb: readonly number[]
}

/** Times `npm start` in a copy of this checkout, with its packages and without ignored files. */
async function main(): Promise<boolean> {
  console.log(`node ${process.version}, ${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}`)
  const postgres = await startPostgres()
  const found = new Map<string, Start[]>()
  const note = (name: string, start: Start): void => {
    const { steps } = start
    const ms = timeOf(start)
    found.set(name, [...(found.get(name) ?? []), start])
    console.log(`\n${name}: ${(ms / 1_000).toFixed(2)} s (load of the machine ${loadavg()[0]?.toFixed(1)})`)
    for (const step of steps) console.log(`${String(step.ms).padStart(8)} ms  ${step.what}`)
  }
  try {
    for (let round = 0; round < Number(values.rounds); round++) {
      const clone = cloneOfThis()
      try {
        note('first start of a clone', await timeStart(clone, {}))
        note('second start', await timeStart(clone, {}))
        const shared = { DATABASE_URL: await postgres.createDatabase(), SLUICE_DATA_DIR: join(clone, 'data-2') }
        note('first start, Postgres', await timeStart(clone, shared))
        note('second start, Postgres', await timeStart(clone, shared))
      } finally {
        rmSync(clone, { recursive: true, force: true })
      }
    }
  } finally {
    await postgres.stop()
  }
  console.log('')
  let held = true
  for (const [name, starts] of found) {
    const medianMs = median(starts.map(timeOf))
    const maxMs = name in MAX_MS ? MAX_MS[name as keyof typeof MAX_MS] : Infinity
    console.log(`${name}: ${(medianMs / 1_000).toFixed(2)} s in the median of ${starts.length}`)
    console.log(
      `  CPU s ${figures(
        starts.map(({ cpuS }) => cpuS),
        2,
      )}`,
    )
    console.log(
      `  RSS MiB ${figures(
        starts.map(({ residentMb }) => residentMb),
        0,
      )}`,
    )
    if (medianMs > maxMs) {
      held = false
      console.log(`NOT HELD: at most ${maxMs / 1_000} s`)
    }
  }
  return held
}

function timeOf({ steps }: Start): number {
  return steps.at(-1)?.ms ?? NaN
}

/** The medians of each process, and the median of the sums. */
function figures(rows: ReadonlyArray<readonly number[]>, digits: number): string {
  const sums = rows.map((row) => row.reduce((sum, one) => sum + one, 0))
  const parts = PROCESSES.map((name, index) => {
    const one = median(rows.map((row) => row[index] ?? NaN))
    return `${name === 'dist' ? 'supervisor' : name} ${one.toFixed(digits)}`
  })
  return `${median(sums).toFixed(digits)}: ${parts.join(', ')}`
}

function cloneOfThis(): string {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-clone-'))
  const files = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    encoding: 'utf8',
  })
  for (const file of files.split('\0').filter((name) => name !== '' && !name.startsWith('test/'))) {
    cpSync(file, join(directory, file), { force: true, recursive: true })
  }
  symlinkSync(resolve('node_modules'), join(directory, 'node_modules'))
  return directory
}

/** The steps of one start; the first piece of an answer is the last step. */
async function timeStart(cwd: string, more: Readonly<Record<string, string>>): Promise<Start> {
  const { PATH = '', HOME = '' } = process.env
  const steps: Step[] = []
  const startedAtMs = Date.now()
  const env = { PATH, HOME, HOST: '127.0.0.1', PORT: '0', LOG_LEVEL: 'debug', ...more }
  // A separate process group: npm does not forward a signal to all processes.
  const child = spawn('npm', ['start', '--silent'], { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'inherit'] })
  const late = setTimeout(() => {
    process.kill(-(child.pid ?? 0), 'SIGKILL')
  }, DEADLINE_MS)
  try {
    const url = await readyUrl(child, (what, atMs) => steps.push({ ms: atMs - startedAtMs, what }))
    steps.push({ ms: Date.now() - startedAtMs, what: 'the gateway says that it is ready' })
    await firstPiece(url, join(more['SLUICE_DATA_DIR'] ?? join(cwd, 'data'), 'first-run.json'))
    const ms = Date.now() - startedAtMs
    const pid = child.pid ?? 0
    const cpu = cpuUsSince(pid, new Map())
    // Later log lines are about the end of the gateway.
    const sorted = [...steps].sort((one, other) => one.ms - other.ms)
    await elapsed(REST_MS)
    const resident = residentMbOfGateway(pid)
    return {
      steps: [...sorted, { ms, what: 'the first piece of an answer has come' }],
      cpuS: PROCESSES.map((name) => (cpu.get(name) ?? NaN) / 1_000_000),
      residentMb: PROCESSES.map((name) => resident.get(name) ?? NaN),
    }
  } finally {
    // npm ends first. The whole group has ended when no process holds its output any more.
    const ended = once(child, 'close')
    process.kill(-(child.pid ?? 0), 'SIGTERM')
    await ended
    clearTimeout(late)
  }
}

async function readyUrl(child: ChildProcess, onStep: (what: string, atMs: number) => void): Promise<string> {
  if (child.stdout === null) throw new Error('the program has no output')
  const lines = createInterface({ input: child.stdout })
  return new Promise((found, fail) => {
    lines.on('line', (line) => {
      const url = READY.exec(line)?.[1]
      if (url !== undefined) found(url)
      if (!line.startsWith('{"level":"debug"')) return
      const { time, name, child: of = name, msg } = JSON.parse(line) as Record<string, string>
      onStep(`${of}: ${msg}`, Date.parse(time ?? ''))
    })
    lines.on('close', () => {
      fail(new Error('the program ended before it was ready'))
    })
  })
}

async function firstPiece(url: string, firstRun: string): Promise<void> {
  const { api_key: key } = JSON.parse(readFileSync(firstRun, 'utf8')) as { api_key: string }
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const answer = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body: BODY })
  const piece = await answer.body?.getReader().read()
  if (!answer.ok || piece?.value === undefined) throw new Error(`no answer: ${answer.status}`)
}

process.exitCode = (await main()) ? 0 : 1
