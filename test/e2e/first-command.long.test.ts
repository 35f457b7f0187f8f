import { execFile, spawn } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, expect, it } from 'vitest'
import { eventually } from '../support/eventually.ts'

const INSTALL_AND_START_MS = 240_000
const checkout = mkdtempSync(join(tmpdir(), 'sluice-first-command-'))

afterAll(() => {
  rmSync(checkout, { recursive: true, force: true })
})

it(
  'installs and starts the gateway with one command in a fresh checkout',
  async () => {
    const { stdout: files } = await promisify(execFile)('git', ['ls-files', '-z', 'src', 'config', '*.json'])
    for (const file of files.split('\0')) if (file !== '') cpSync(file, join(checkout, file))
    const { PATH = '', HOME = '' } = process.env
    // A group of its own: npm would not hand a signal on to all.
    const child = spawn('bash', ['-c', 'npm ci && npm start'], {
      cwd: checkout,
      env: { PATH, HOME, HOST: '127.0.0.1', PORT: '0' },
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
    const closed = once(child, 'close')
    try {
      await eventually(
        () => {
          expect(child.exitCode, output).toBeNull()
          expect(output).toContain('Sluice is ready at')
        },
        { timeoutMs: INSTALL_AND_START_MS },
      )
    } finally {
      process.kill(-(child.pid ?? 0), 'SIGTERM')
      await closed
    }
  },
  INSTALL_AND_START_MS + 60_000,
)
