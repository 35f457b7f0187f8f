import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { eventually } from '../../support/eventually.ts'

const run = promisify(execFile)
const SOURCES = [
  'src',
  'config',
  'docs',
  'package.json',
  'package-lock.json',
  'README.md',
  'LICENSE',
  'tsconfig.json',
  'tsconfig.build.json',
]
const PACK_TIMEOUT_MS = 240_000
const INSTALL_TIMEOUT_MS = 240_000
const START = { timeoutMs: 60_000 }
const MAX_BYTES = 120e6

let work: string
let home: string

beforeAll(async () => {
  work = mkdtempSync(join(tmpdir(), 'sluice-packed-'))
  home = join(work, 'home')
  mkdirSync(home)
  // A copy: packing builds, and other tests run what this checkout has built.
  const checkout = join(work, 'checkout')
  for (const name of SOURCES) cpSync(name, join(checkout, name), { recursive: true })
  symlinkSync(resolve('node_modules'), join(checkout, 'node_modules'))
  await run('npm', ['pack', '--pack-destination', work], { cwd: checkout, timeout: PACK_TIMEOUT_MS })
  const packed = readdirSync(work).find((name) => name.endsWith('.tgz')) ?? ''
  await run('npm', ['install', '--omit=dev', '--no-audit', '--no-fund', '--prefer-offline', join(work, packed)], {
    cwd: home,
    timeout: INSTALL_TIMEOUT_MS,
  })
}, PACK_TIMEOUT_MS + INSTALL_TIMEOUT_MS)

afterAll(() => {
  rmSync(work, { recursive: true, force: true })
})

it('installs little, and nothing that runs a script', () => {
  expect(bytesOf(join(home, 'node_modules'))).toBeLessThan(MAX_BYTES)
  const { packages } = JSON.parse(readFileSync(join(home, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { hasInstallScript?: boolean }>
  }
  expect(Object.entries(packages).filter(([, entry]) => entry.hasInstallScript === true)).toEqual([])
  expect(existsSync(join(home, 'node_modules/rapidoc'))).toBe(false)
})

it('has the licences of what is bundled', () => {
  const made = join(home, 'node_modules/sluice/dist')
  const licences = readFileSync(join(made, 'licenses.txt'), 'utf8')
  expect(licences).toMatch(/^== gpt-tokenizer \S+ \(MIT\)$[^=]+Permission is hereby granted/m)
  expect(readFileSync(join(made, 'console/licenses.md'), 'utf8')).toMatch(/^## react - /m)
})

it('starts in an empty folder and answers', async () => {
  const gateway = spawn('npx', ['--no-install', 'sluice', 'start'], {
    cwd: home,
    env: { ...process.env, HOST: '127.0.0.1', PORT: '0', SLUICE_FRONTS: '1', LOG_LEVEL: 'error' },
    stdio: ['ignore', 'pipe', 'pipe'],
    // npx hands no signal on: its group is told.
    detached: true,
  })
  const ended = once(gateway, 'exit')
  try {
    let output = ''
    for (const stream of [gateway.stdout, gateway.stderr]) stream.on('data', (chunk) => (output += String(chunk)))
    const command = await eventually(() => {
      const found = /curl -N (\S+) -H 'Authorization: (Bearer \S+)'[^]*-d '([^']+)'/.exec(output)
      if (found === null) throw new Error(`no first request in:\n${output}`)
      return Promise.resolve(found)
    }, START)
    expect(output).toMatch(/^Sluice is ready at \S+ \(Node \d+\.\d+\.\d+, uWebSockets\.js \d+\.\d+\.\d+\)$/m)
    const [, url = '', authorization = '', body = ''] = command

    const answer = await fetch(url, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body,
      signal: AbortSignal.timeout(20_000),
    })
    expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('data: [DONE]')])
    expect(existsSync(join(home, 'data/first-run.json'))).toBe(true)
    const program = await fetch(new URL('/docs/rapidoc-min.js', url), { signal: AbortSignal.timeout(20_000) })
    expect([program.status, (await program.text()).length > 100_000]).toEqual([200, true])
  } finally {
    process.kill(-(gateway.pid ?? 0), 'SIGTERM')
    await ended
  }
})

function bytesOf(path: string): number {
  const found = statSync(path)
  if (!found.isDirectory()) return found.size
  return readdirSync(path).reduce((sum, name) => sum + bytesOf(join(path, name)), 0)
}
