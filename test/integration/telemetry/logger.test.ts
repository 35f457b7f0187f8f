import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { generateApiKey } from '../../../src/shared/core/api-key.ts'
import { GatewayError } from '../../../src/shared/core/errors.ts'
import { builtModule } from '../../support/built-module.ts'
import { createLogger, type Logger, type LogLevel } from '../../../src/shared/telemetry/logger.ts'
import { maskSecrets } from '../../../src/shared/telemetry/mask.ts'
import fc from '../../support/fast-check.ts'

function recorded(level: LogLevel = 'debug'): { log: Logger; lines: string[]; last: () => Record<string, unknown> } {
  const lines: string[] = []
  const log = createLogger({ level, name: 'front', sink: { write: (line) => void lines.push(line) } })
  return { log, lines, last: () => JSON.parse(lines.at(-1) ?? '') as Record<string, unknown> }
}

const random = (length: number): string => generateApiKey().slice(3, 3 + length)

/** A secret as it looks in the wild, and the part of it that must never be seen. */
const CANARIES: ReadonlyArray<readonly [shape: string, text: (secret: string) => string]> = [
  ['entry key', (s) => `sk-${s}`],
  ['entry key behind the end of a word', (s) => `task-sk-${s}`],
  ['entry key, percent-encoded', (s) => `?key%3Dsk-${s}`],
  ['project key', (s) => `sk-proj-${s}`],
  ['messages key', (s) => `sk-ant-api03-${s}`],
  ['groq key', (s) => `gsk_${s}`],
  ['xai key', (s) => `xai-${s}`],
  ['gemini key', (s) => `AIza${s}`],
  ['bearer', (s) => `Bearer ${s}`],
  ['bearer, lower case', (s) => `authorization: bearer ${s}`],
  ['basic', (s) => `Basic ${Buffer.from(`user:${s}`).toString('base64')}`],
  ['JWT', (s) => `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.${s}`],
  ['JWT without signature', (s) => `eyJhbGciOiJub25lIn0.${s}`],
  ['password in a URL', (s) => `postgres://sluice:${s}@db.internal:5432/sluice`],
  ['password without user', (s) => `redis://:${s}@cache`],
]

const visible = (secret: string, text: string): boolean =>
  text.includes(secret) || text.includes(Buffer.from(`user:${secret}`).toString('base64'))

it.each(CANARIES)('never writes a planted %s, wherever it stands', (_shape, make) => {
  const secret = random(30)
  const text = make(secret)
  const nested = new Error(`inner\n${text}`, { cause: new GatewayError('UPSTREAM_ERROR', { detail: `at ${text}` }) })
  const { log, lines } = recorded()

  log.info(text)
  log.info(`before "${text}" after`)
  log.info(`line\n${text}\ttab\t${text}`)
  log.warn({ err: nested }, 'failed')
  log.error({ err: Object.assign(new Error('x'), { config: { headers: { other: text } } }) }, text)
  log.info({ headers: { 'x-whatever': text }, list: [[text]], deep: { a: { b: { c: text } } } }, 'fields')
  log.info({ [text]: 1 }, 'as a name')
  log.info({ json: JSON.stringify({ nested: text }) }, 'JSON in JSON')
  log.child(text).info('as a logger')

  expect(lines).toHaveLength(9)
  for (const line of lines) {
    expect(visible(secret, line), line).toBe(false)
    expect(() => JSON.parse(line) as unknown).not.toThrow()
  }
})

it.each([
  'authorization',
  'Authorization',
  'x-api-key',
  'cookie',
  'set-cookie',
  'credential',
  'password',
  'secret',
  'token',
])('never writes the value of a member named %s, whatever it is', (name) => {
  const secret = 'plain words "quoted" \\ and more'
  const { log, lines } = recorded()

  log.info({ [name]: secret }, 'top')
  log.info({ a: { [name]: secret, after: 1 } }, 'nested')
  log.info({ a: { b: { c: { [name]: secret } } } }, 'deep')
  log.info({ a: { b: { [name]: [secret, secret] } } }, 'list')
  log.info({ err: Object.assign(new Error('x'), { [name]: secret }) }, 'error')

  for (const line of lines) {
    expect(line).not.toContain('plain words')
    expect(line).not.toContain('and more')
    expect(() => JSON.parse(line) as unknown).not.toThrow()
  }
})

it('leaves ordinary text alone', () => {
  const ordinary = [
    'task-oriented disk-usage-monitoring, risk-assessment-of-something',
    'bearer of news, basic rules: max_tokens 5, prompt_tokens 17',
    'http://127.0.0.1:8787/v1/chat/completions?x=a@b, GET /health',
    'req_0123456789abcdef and 2026-01-01T00:00:00Z',
    'sk-AbCd…wXyZ',
  ]
  for (const text of ordinary) expect(maskSecrets(text)).toBe(text)
})

it('writes valid JSON with the other members intact, whatever the fields hold', () => {
  const { log, last } = recorded()
  fc.assert(
    fc.property(fc.jsonValue(), fc.string(), (value, message) => {
      log.info({ value, after: 7 }, message)
      expect(last()).toMatchObject({ level: 'info', name: 'front', after: 7 })
    }),
    { numRuns: 500 },
  )
})

it('writes time, level, name, process, error and its causes', () => {
  const { log, last } = recorded()

  log.child('scheduler').error({ err: new Error('outer', { cause: new Error('inner') }), keyId: 'k' }, 'broken')
  expect(last()).toMatchObject({ level: 'error', name: 'front.scheduler', pid: process.pid, msg: 'broken', keyId: 'k' })
  expect(last()['err']).toMatchObject({ type: 'Error', message: 'outer', cause: { message: 'inner' } })
  expect(new Date(String(last()['time'])).getTime()).toBeGreaterThan(0)
})

it('writes nothing below its level', () => {
  const { log, lines } = recorded('warn')

  log.debug('no')
  log.info('no')
  log.warn('yes')
  expect(lines).toHaveLength(1)
  expect([log.enabled('info'), log.enabled('error')]).toEqual([false, true])
})

it('appends to a file that only its owner can read, at the latest on flush', () => {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-log-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const file = join(directory, 'logs', 'sluice.log')

  const log = createLogger({ level: 'info', name: 'control', file })
  log.info('one')
  log.flush()
  createLogger({ level: 'info', name: 'control', file }).info('buffered')

  expect(readFileSync(file, 'utf8')).toMatch(/"msg":"one"\}\n$/)
  expect(statSync(file).mode & 0o777).toBe(0o600)
})

it('fails at once when the file cannot be opened', () => {
  expect(() => createLogger({ level: 'info', name: 'x', file: '/dev/null/log' })).toThrow(/ENOTDIR|EEXIST/)
})

it('loses no line when the process ends', { timeout: 120_000 }, () => {
  const program = `
    const { createLogger } = await import(${JSON.stringify(builtModule('shared/telemetry/logger').href)})
    const log = createLogger({ level: 'info', name: 'p' })
    for (let i = 0; i < 500; i++) log.info({ i }, 'm')
    process.exit(3)`

  const { stdout, status } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' })
  expect(status).toBe(3)
  const written = stdout.trim().split('\n')
  expect(written.map((line) => (JSON.parse(line) as { i: number }).i)).toEqual(Array.from({ length: 500 }, (_, i) => i))
})
