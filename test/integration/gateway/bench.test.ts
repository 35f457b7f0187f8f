import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { BenchResult } from '../../../src/cli/bench/result.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { AlteringProxy } from '../../support/altering-proxy.ts'
import { itLater } from '../../support/dose.ts'
import { startGateway } from '../../support/gateway.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { sluice } from '../../support/sluice.ts'
import type { Said } from '../../support/sluice.ts'

const REAL_MODEL = 'gpt-4o-mini'
const TINY = ['--seconds', '0.5', '--rate', '6']
const cwd = mkdtempSync(join(tmpdir(), 'sluice-bench-test-'))
let simulator: Simulator
let gateway: TestGateway
let proxy: AlteringProxy
let token = ''
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

beforeAll(async () => {
  simulator = await startSimulator()
  const upstream = { dialect: 'openai-chat', baseUrl: `${simulator.origin}/v1` } as const
  gateway = await startGateway({
    upstreams: [
      // The command takes a model of this upstream for a simulated one, as it does with the built-in simulator.
      { ...upstream, id: 'simulator-chat', models: ['sim-gpt', 'assistant'] },
      { ...upstream, id: 'provider', models: [REAL_MODEL, 'nobody-knows-its-price'] },
    ],
  })
  proxy = await AlteringProxy.start(gateway.url)
  token = await gateway.adminToken()
})

afterAll(async () => {
  await proxy.close()
  await gateway.stop()
  await simulator.close()
  rmSync(cwd, { recursive: true, force: true })
})

function bench(args: readonly string[], url = gateway.url): Promise<Said> {
  const target = ['--url', url, '--key', gateway.apiKey]
  return sluice(['bench', ...target, ...args], { cwd, env: { SLUICE_TOKEN: token, XDG_CONFIG_HOME: cwd } })
}

function resultIn(file: string): BenchResult {
  return JSON.parse(readFileSync(join(cwd, file), 'utf8')) as BenchResult
}

describe('a run against a deployment', () => {
  let said: Said

  beforeAll(async () => {
    said = await bench(['--model', 'sim-gpt', ...TINY, '--json', 'result.json', '--html', 'result.html'])
  })

  it('passes every scenario that a deployment can run, and says why the others are left out', () => {
    expect(said.stderr).toContain('1 of 10, buffered')
    expect(said.code, said.stdout).toBe(0)
    const { scenarios } = resultIn('result.json')
    const skipped = scenarios.filter(({ status }) => status === 'skipped')
    expect(skipped.map(({ name }) => name)).toEqual(['keys', 'failover', 'affinity'])
    expect(skipped[0]?.problems[0]).toContain('--keys-file')
    for (const { name, requests } of scenarios) {
      if (!skipped.some((one) => one.name === name)) expect(requests, name).toBeGreaterThan(0)
    }
  })

  it('compares each row of the request log in the accounting', () => {
    const accounting = resultIn('result.json').scenarios.find(({ name }) => name === 'accounting')
    expect(accounting).toMatchObject({ status: 'passed', failures: 0 })
    expect(accounting?.figures).toContainEqual({ label: 'rows compared', value: accounting?.requests, unit: '' })
  })

  it('writes the machine, the version and the target, and no key', () => {
    const result = resultIn('result.json')
    expect(result).toMatchObject({
      format: 1,
      version: '0.0.0',
      machine: { node: process.version },
      target: { kind: 'deployment', url: gateway.url, model: 'sim-gpt', paid: false },
    })
    for (const file of ['result.json', 'result.html']) {
      const text = readFileSync(join(cwd, file), 'utf8')
      expect(text).not.toContain(gateway.apiKey)
      expect(text).not.toContain(token)
    }
  })

  it('writes one HTML file that loads nothing', () => {
    const html = readFileSync(join(cwd, 'result.html'), 'utf8')
    expect(html).toMatch(/^<!doctype html>[\s\S]*<\/html>\n$/)
    expect(html).toContain('Throughput within a bound')
    expect(html).not.toMatch(/<script|<link|<img|\ssrc=|\shref=|url\(|@import/)
    for (const tag of ['section', 'table', 'figure', 'dl', 'td', 'tr', 'ul']) {
      const opened = html.match(new RegExp(`<${tag}[ >]`, 'g')) ?? []
      expect(html.match(new RegExp(`</${tag}>`, 'g')) ?? [], tag).toHaveLength(opened.length)
    }
  })

  it('is compared with another result', async () => {
    const compared = await sluice(['bench', '--compare', 'result.json', 'result.json', '--json'], { cwd })
    expect(compared.code).toBe(0)
    const { figures } = JSON.parse(compared.stdout) as { figures: Array<{ figure: string; ratio: number | null }> }
    expect(figures.map(({ figure }) => figure)).toContain('p50 ms')
    for (const { ratio } of figures) expect([1, null]).toContain(ratio)
  })
})

describe('the accounting', () => {
  const account = (url: string): Promise<Said> =>
    bench(['--model', 'sim-gpt', ...TINY, '--only', 'accounting', '--no-html'], url)

  /** Alters the first answer to an AI request that the pattern matches. */
  const once = (pattern: RegExp, change: (found: string) => string): void => {
    let isDone = false
    proxy.alterBy((body, _, path) => {
      if (isDone || !path.startsWith('/v1/chat') || !pattern.test(body)) return body
      isDone = true
      return body.replace(pattern, change)
    })
  }

  itLater('passes through a proxy that changes nothing', async () => {
    proxy.alterBy((body) => body)
    const said = await account(proxy.url)
    expect(said.code, said.stdout).toBe(0)
  })

  itLater('fails on one lost event', async () => {
    once(/^data: .*"content":" 3".*\n\n/m, () => '')
    const said = await account(proxy.url)
    expect(said.code).toBe(1)
    expect(said.stdout).toContain('FAILED   accounting: an answer lacks 3 of 1 to')
  })

  itLater('fails when an answer and its row differ by one token', async () => {
    once(/"prompt_tokens":\d+/, (found) => found.replace(/\d+/, (tokens) => String(Number(tokens) + 1)))
    const said = await account(proxy.url)
    expect(said.code).toBe(1)
    expect(said.stdout).toMatch(/accounting: a row has prompt_tokens \d+, its answer \d+/)
  })

  itLater('fails on one row too many', async () => {
    proxy.alterBy((body, _, path) => {
      if (!path.startsWith('/v1/admin/logs')) return body
      const page = JSON.parse(body) as { data: Array<{ id: string }> }
      return JSON.stringify({ ...page, data: [...page.data, ...page.data.slice(0, 1)] })
    })
    const said = await account(proxy.url)
    expect(said.code).toBe(1)
    expect(said.stdout).toContain('accounting: a request has 2 rows')
  })
})

describe('the cost guard', () => {
  const sent = (): number => simulator.ledger.totals.started
  const run = (...args: string[]): Promise<Said> => bench([...TINY, '--only', 'buffered', '--no-html', ...args])

  it.each([
    [['--model', REAL_MODEL], /real provider: .* requests, up to .* tokens .*at most \$.*give --max-cost DOLLARS/],
    [['--model', REAL_MODEL, '--max-cost', '0'], /--max-cost allows \$0\.00: raise it/],
    [['--model', 'nobody-knows-its-price', '--max-cost', '5'], /--max-cost needs it: give --price/],
    // Its owner is that of its first upstream alone: another one may cost money.
    [['--model', 'assistant'], /assistant is a model of a real provider/],
  ])('sends nothing with %j', async (args, says) => {
    const before = sent()
    const said = await run(...args)
    expect(said.code).toBe(2)
    expect(said.stderr).toMatch(says)
    expect(sent()).toBe(before)
  })

  it('lets a run go on that costs no more than agreed', async () => {
    const before = sent()
    const said = await run('--model', REAL_MODEL, '--max-cost', '1')
    expect(said.code, said.stderr).toBe(0)
    expect(said.stdout).toMatch(/Spent about \$0\.\d+/)
    expect(sent()).toBeGreaterThan(before)
  })
})

itLater('keeps the results of the other scenarios when one breaks off', async () => {
  proxy.alterBy((body, _, path) => (path.startsWith('/v1/admin/logs') ? 'no JSON' : body))
  const args = ['--model', 'sim-gpt', ...TINY, '--only', 'buffered,accounting', '--no-html', '--json', 'broken.json']
  const said = await bench(args, proxy.url)
  expect(said.code).toBe(1)
  expect(said.stdout).toContain('FAILED   accounting: broke off: ')
  expect(resultIn('broken.json').scenarios.map(({ status }) => status)).toEqual(['passed', 'failed'])
})

it('fails when a scenario of --only cannot run', async () => {
  const said = await bench(['--model', 'sim-gpt', ...TINY, '--only', 'keys', '--no-html'])
  expect(said.code).toBe(1)
  expect(said.stdout).toContain('skipped  keys: there is one key')
})

it.each([
  [['--model', 'sim-gpt', '--json', '.'], '--json . cannot be written: it is a folder'],
  [['--model', 'sim-gpt', '--only', 'none'], '--only has no scenario "none": it takes buffered, streamed'],
  [['--model', 'no-such-model'], '--model no-such-model is none that the key may use'],
  [['--model', 'sim-gpt', '--trace', 'missing.csv'], '--trace missing.csv cannot be read'],
  [['--model', 'sim-gpt', '--html', 'no/such/folder.html'], '--html no/such/folder.html cannot be written'],
])('refuses %j, naming the option', async (args, says) => {
  const said = await bench(args)
  expect(said.code).toBe(2)
  // With --json, the error is JSON.
  expect(said.stderr + said.stdout).toContain(says)
})
