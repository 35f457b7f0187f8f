import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { commandBlocks, pages } from '../support/documented-commands.ts'
import type { CommandBlock } from '../support/documented-commands.ts'
import { copyMadeDatabase, databaseEnv, runProgram, stopPrograms } from '../support/program.ts'
import type { Program } from '../support/program.ts'

const ROOT = resolve('.')
const DEFAULT_URL = 'http://127.0.0.1:8787'
const BLOCK_TIMEOUT_MS = 120_000
vi.setConfig({ testTimeout: BLOCK_TIMEOUT_MS + 30_000, hookTimeout: BLOCK_TIMEOUT_MS + 30_000 })

const root = mkdtempSync(join(tmpdir(), 'sluice-documents-'))
const bin = join(root, 'bin')

beforeAll(() => {
  mkdirSync(bin)
  const cli = join(ROOT, 'dist/cli/sluice.js')
  writeFileSync(join(bin, 'sluice'), `#!/bin/sh\nexec "${process.execPath}" "${cli}" "$@"\n`, { mode: 0o755 })
})

afterAll(async () => {
  await stopPrograms()
  rmSync(root, { recursive: true, force: true })
})

/** Whether a program is there, or a variable is set. */
function isThere(name: string): boolean {
  if (name === name.toUpperCase()) return (process.env[name] ?? '') !== ''
  return (process.env['PATH'] ?? '').split(delimiter).some((folder) => existsSync(join(folder, name)))
}

/** Blocks of one page share a working directory and a gateway, which runs but for blocks that say otherwise. */
class Reader {
  readonly #cwd: string
  readonly #env: Record<string, string>
  #gateway: Program | null = null
  #hasStarted = false
  #url = DEFAULT_URL

  constructor(page: string) {
    this.#cwd = join(root, page.replace('/', '-'))
    mkdirSync(this.#cwd)
    copyMadeDatabase(join(this.#cwd, 'data'))
    const { PATH = '', DATABASE_URL = '' } = process.env
    this.#env = {
      PATH: `${bin}${delimiter}${PATH}`,
      HOME: this.#cwd,
      CHECKOUT: ROOT,
      LOG_LEVEL: 'warn',
      ...(DATABASE_URL === '' ? {} : { DATABASE_URL }),
    }
  }

  async run(block: CommandBlock): Promise<{ code: number | null; output: string }> {
    // The pages say so: a gateway has been started once, also before commands that need it stopped.
    if (!this.#hasStarted) await this.#gatewayRuns(true)
    await this.#gatewayRuns(!block.isStopped)
    const commands = block.commands.replaceAll(DEFAULT_URL, this.#url)
    const shell = spawn('bash', ['-euo', 'pipefail', '-c', commands], {
      cwd: this.#cwd,
      env: { ...this.#env, PORT: new URL(this.#url).port },
      timeout: BLOCK_TIMEOUT_MS,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    for (const stream of [shell.stdout, shell.stderr])
      stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
    const [code] = (await once(shell, 'close')) as [number | null]
    return { code, output }
  }

  async end(): Promise<void> {
    await this.#gatewayRuns(false)
  }

  async #gatewayRuns(shouldRun: boolean): Promise<void> {
    if (shouldRun && this.#gateway === null) {
      this.#gateway = runProgram(this.#cwd, {
        ...(await databaseEnv()),
        PORT: '0',
        HOST: '127.0.0.1',
        LOG_LEVEL: 'warn',
      })
      this.#url = await this.#gateway.ready()
      this.#hasStarted = true
    } else if (!shouldRun && this.#gateway !== null) {
      await this.#gateway.stop()
      this.#gateway = null
    }
  }
}

describe.each(pages(ROOT))('the commands of %s', (page) => {
  const blocks = commandBlocks(ROOT, page)
  const here = blocks.filter(({ elsewhere }) => elsewhere.length === 0)
  let reader: Reader

  beforeAll(() => {
    reader = new Reader(page)
  })
  afterAll(() => reader.end())

  for (const block of here) {
    it.skipIf(!block.needs.every(isThere))(`work: line ${block.line}`, async () => {
      const { code, output } = await reader.run(block)
      expect(code, output).toBe(0)
      // A block may say that upstreams cannot be reached from here, not that its file is wrong.
      expect(output).not.toMatch(/^FAILED +configuration/m)
    })
  }

  it('are run by another file, where they say so', () => {
    for (const { line, commands, elsewhere } of blocks) {
      if (elsewhere.length === 0) continue
      const text = elsewhere.map((file) => readFileSync(file, 'utf8')).join('\n')
      for (const command of commands.split('\n').flatMap((line) => line.replace(/\s*#.*/, '').split(' && '))) {
        if (command !== '') expect(text, `${page}:${line}`).toContain(command)
      }
    }
  })
})
