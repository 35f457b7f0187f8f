import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { generateApiKey } from '../../../src/shared/core/api-key.ts'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { itLater } from '../../support/dose.ts'
import { eventually } from '../../support/eventually.ts'
import { copyMadeDatabase, runProgram, stopPrograms } from '../../support/program.ts'
import type { Program } from '../../support/program.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

const fixture = (name: string): string => fileURLToPath(new URL(`../../fixtures/tls/${name}`, import.meta.url))
const root = mkdtempSync(join(tmpdir(), 'sluice-reload-'))
const keys = { first: generateApiKey(), second: generateApiKey() }
let simulator: Simulator
let program: Program
let url: URL

interface LogLine {
  readonly msg: string
  readonly changed?: readonly string[]
  readonly needRestart?: readonly string[]
  readonly problem?: string
}

interface Wanted {
  readonly models?: readonly string[]
  readonly keys?: readonly string[]
  readonly fallbacks?: Readonly<Record<string, readonly string[]>>
  readonly more?: Readonly<Record<string, unknown>>
}

function configure({ models = ['one'], keys: entries = [keys.first], fallbacks = {}, more = {} }: Wanted): void {
  const file = {
    server: {
      host: '127.0.0.1',
      port: 0,
      fronts: 2,
      drain_announce_ms: 100,
      tls: { cert_file: join(root, 'tls.crt'), key_file: join(root, 'tls.key') },
    },
    data_dir: join(root, 'data'),
    overload: { loop_delay_ms: 10_000 },
    keys: entries.map((key, index) => ({ name: `key ${index}`, key })),
    upstreams: [
      {
        id: 'sim',
        dialect: 'openai-chat',
        base_url: `${simulator.origin}/v1`,
        keys: [{ credential: `\${file:${join(root, 'credential')}}` }],
        models,
      },
    ],
    fallbacks,
    ...more,
  }
  writeFileSync(join(root, 'sluice.yaml'), JSON.stringify(file))
}

function useCertificate(name: 'localhost' | 'renewed'): void {
  copyFileSync(fixture(`${name}.crt`), join(root, 'tls.crt'))
  copyFileSync(fixture(`${name}.key`), join(root, 'tls.key'))
}

/** The log lines of reloads so far. */
function reloads(): LogLine[] {
  return program
    .stdout()
    .split('\n')
    .filter((line) => line.includes('"name":"supervisor.configuration"'))
    .map((line) => JSON.parse(line) as LogLine)
}

/** Waits for log lines after the first `count`, and returns them. */
function nextReload(count: number): Promise<LogLine[]> {
  return eventually(() => {
    const lines = reloads().slice(count)
    if (lines.length === 0) throw new Error('the configuration has not been read again')
    return lines
  })
}

/** The name in the certificate that a new connection gets. */
function certificateName(): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port: Number(url.port), host: '127.0.0.1', rejectUnauthorized: false }, () => {
      resolve(String(socket.getPeerCertificate().subject.CN))
      socket.destroy()
    })
    socket.on('error', reject)
  })
}

interface Asked {
  readonly status: number
  readonly text: Promise<string>
}

function ask(model: string, { key = keys.first, stream = false } = {}): Promise<Asked> {
  return new Promise((resolve, reject) => {
    const call = request(
      new URL('/v1/chat/completions', url),
      {
        method: 'POST',
        agent: false,
        rejectUnauthorized: false,
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      },
      (answer) => {
        let said = ''
        answer.on('data', (chunk: Buffer) => (said += chunk.toString()))
        const text = new Promise<string>((done, failed) => {
          answer.on('end', () => {
            done(said)
          })
          answer.on('error', failed)
        })
        text.catch(() => undefined)
        resolve({ status: answer.statusCode ?? 0, text })
      },
    )
    call.on('error', reject)
    call.end(JSON.stringify({ model, stream, messages: [{ role: 'user', content: 'hi' }] }))
  })
}

const statusOf = async (...asked: Parameters<typeof ask>): Promise<number> => (await ask(...asked)).status

function childrenOf(kind: 'front' | 'control'): number[] {
  const children = readFileSync(`/proc/${program.pid}/task/${program.pid}/children`, 'utf8').trim().split(' ')
  return children.filter((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(`${kind}/main.js`)).map(Number)
}

beforeAll(async () => {
  simulator = await startSimulator()
  writeFileSync(join(root, 'credential'), 'first-credential')
  useCertificate('localhost')
  configure({})
  copyMadeDatabase(join(root, 'data'))
  program = runProgram(root, {})
  url = new URL(await program.ready())
})
afterAll(async () => {
  await stopPrograms()
  await simulator.close()
  rmSync(root, { recursive: true, force: true })
})

it('takes a changed file: upstreams, models, fallbacks and keys, without an end of a process', async () => {
  expect([await statusOf('one'), await statusOf('two')]).toEqual([200, 404])
  configure({ models: ['one', 'two'], keys: [keys.first, keys.second], fallbacks: { gone: ['two'] } })
  expect(await nextReload(0)).toMatchObject([
    {
      msg: 'the configuration was read again',
      needRestart: [],
      changed: ['upstreams: changed sim', 'keys: added key 1', 'fallbacks: added gone'],
    },
  ])
  await eventually(async () => expect(await statusOf('two', { key: keys.second })).toBe(200))
  configure({ keys: [keys.first], more: { limits: { max_json_depth: 32 } } })
  expect(await nextReload(1)).toMatchObject([
    {
      msg: 'the configuration was read again; some changes need a restart',
      changed: ['upstreams: changed sim', 'keys: removed key 1', 'fallbacks: removed gone'],
      needRestart: ['limits.max_json_depth'],
    },
  ])
  await eventually(async () => {
    expect([await statusOf('two'), await statusOf('one', { key: keys.second })]).toEqual([404, 401])
  })
})

it('takes nothing of a broken file, and logs each of its errors', async () => {
  const before = reloads().length
  configure({ models: ['one', 'three', 'three'], more: { log: { level: 'loud' }, redis: { url: 'http://x' } } })
  const lines = await nextReload(before)
  expect(lines).toMatchObject(
    Array.from({ length: 3 }, () => ({ msg: 'the configuration was not changed: it has an error' })),
  )
  for (const text of ['log.level must be one of', 'redis.url must be an address', 'upstreams[0].models[2]']) {
    expect(lines.filter(({ problem = '' }) => problem.includes(text))).toHaveLength(1)
  }
  expect([await statusOf('one'), await statusOf('three')]).toEqual([200, 404])
  configure({})
  await nextReload(before + lines.length)
})

itLater('takes no file that is empty or gone', async () => {
  const before = reloads().length
  writeFileSync(join(root, 'sluice.yaml'), '')
  expect(await nextReload(before)).toMatchObject([{ problem: expect.stringContaining('is empty') as string }])
  rmSync(join(root, 'sluice.yaml'))
  expect(await nextReload(before + 1)).toMatchObject([{ problem: expect.stringContaining('sluice.yaml') as string }])
  expect(await statusOf('one')).toBe(200)
  configure({})
  expect(await nextReload(before + 2)).toMatchObject([{ changed: [], needRestart: [] }])
})

itLater('turns a key off that is removed while the control process is down', async () => {
  const before = reloads().length
  configure({ keys: [keys.first, keys.second] })
  await nextReload(before)
  await eventually(async () => expect(await statusOf('one', { key: keys.second })).toBe(200))
  for (const pid of childrenOf('control')) process.kill(pid, 'SIGKILL')
  configure({})
  program.signal('SIGHUP')
  expect(await nextReload(before + 1)).toMatchObject([{ changed: ['keys: removed key 1'] }])
  await eventually(async () => expect(await statusOf('one', { key: keys.second })).toBe(401), { timeoutMs: 30_000 })
  expect(await statusOf('one')).toBe(200)
})

it('reads on SIGHUP, and says when nothing has changed', async () => {
  const before = reloads().length
  program.signal('SIGHUP')
  expect(await nextReload(before)).toMatchObject([
    { msg: 'the configuration was read again; nothing has changed', changed: [], needRestart: [] },
  ])
  expect(await statusOf('one')).toBe(200)
})

it('gives new connections a new certificate, while streams under the old one go on', async () => {
  simulator.setDefaults({ eventsPerSecond: 20, tokens: 100 })
  const streams = await Promise.all(Array.from({ length: 6 }, () => ask('one', { stream: true })))
  expect(await certificateName()).toBe('localhost')
  const before = reloads().length
  useCertificate('renewed')
  const lines = await nextReload(before)
  expect(lines.at(-1)).toMatchObject({ changed: ['server.tls: new certificate'] })
  for (let times = 0; times < 20; times++) expect(await certificateName()).toBe('renewed')
  for (const { status, text } of streams) {
    expect(status).toBe(200)
    expect((await text).trimEnd().endsWith('data: [DONE]')).toBe(true)
  }
  simulator.setDefaults({})
  expect(await statusOf('one')).toBe(200)
})

itLater('keeps the certificate when its files do not fit, and takes them once they do', async () => {
  const before = reloads().length
  copyFileSync(fixture('localhost.crt'), join(root, 'tls.crt'))
  expect(await nextReload(before)).toMatchObject([{ problem: expect.stringContaining('server.tls') as string }])
  expect(await certificateName()).toBe('renewed')
  copyFileSync(fixture('localhost.key'), join(root, 'tls.key'))
  await nextReload(before + 1)
  expect(await certificateName()).toBe('localhost')
})

itLater('takes the new content of a file that a value refers to, and keeps it over the end of a front', async () => {
  const before = reloads().length
  writeFileSync(join(root, 'credential'), 'second-credential')
  expect(await nextReload(before)).toMatchObject([{ changed: ['upstreams: changed sim'] }])
  simulator.setDefaults({ requireKey: ['second-credential'] })
  await eventually(async () => expect(await statusOf('one')).toBe(200))
  const fronts = childrenOf('front')
  expect(fronts).toHaveLength(2)
  for (const pid of fronts) process.kill(pid, 'SIGKILL')
  await eventually(async () => expect(await statusOf('one')).toBe(200), { timeoutMs: 30_000 })
  expect(await certificateName()).toBe('localhost')
})

itLater('turns a key off that is removed while the gateway is stopped', async () => {
  const before = reloads().length
  configure({ keys: [keys.first, keys.second] })
  await nextReload(before)
  await eventually(async () => expect(await statusOf('one', { key: keys.second })).toBe(200))
  await program.stop()
  configure({})
  program = runProgram(root, {})
  url = new URL(await program.ready())
  expect(await statusOf('one', { key: keys.second })).toBe(401)
  expect(await statusOf('one')).toBe(200)
})
