import { describe, expect, it } from 'vitest'
import { compareResults, directionOf } from '../../../src/cli/bench/compare.ts'
import { htmlComparison } from '../../../src/cli/bench/html/comparison.ts'
import { htmlReport } from '../../../src/cli/bench/html/report.ts'
import { linearScale, logScale, TAIL_SCALE, timeScale } from '../../../src/cli/bench/html/scale.ts'
import { Latencies } from '../../../src/cli/bench/latencies.ts'
import type { BenchResult, ScenarioResult } from '../../../src/cli/bench/result.ts'
import { NO_FIGURES } from '../../../src/cli/bench/scenario.ts'

const HOSTILE = `"><script>alert('x')</script>&`

function resultWith(scenarios: readonly ScenarioResult[]): BenchResult {
  return {
    format: 1,
    at: '2026-11-25T19:00:00.000Z',
    seconds: 10,
    version: '1.2.3',
    commit: 'unknown',
    machine: { node: 'v22.0.0', cpus: 2, model: HOSTILE, load: 0, memoryMb: 1 },
    target: { kind: 'deployment', url: `https://ai.example.com/${HOSTILE}`, model: HOSTILE, paid: true, spent: 0.5 },
    options: { trace: HOSTILE },
    scenarios,
    memory: [],
    elsewhere: 0,
  }
}

const FAILED: ScenarioResult = {
  ...NO_FIGURES,
  name: 'accounting',
  status: 'failed',
  problems: [HOSTILE],
  from: 0,
  seconds: 1,
  requests: 10,
  failures: 1,
}

it('writes texts of a deployment as texts', () => {
  const report = htmlReport(resultWith([FAILED]))
  expect(report).toContain('✗ 1 failed')
  expect(report).toContain('$0.5000')
  const comparison = htmlComparison({
    base: resultWith([]),
    change: resultWith([FAILED]),
    rows: [{ scenario: 'accounting', figure: HOSTILE, base: 1, change: 2, ratio: 2 }],
    newlyFailed: [FAILED],
    notRun: ['buffered'],
    differences: [HOSTILE],
  })
  for (const page of [report, comparison]) expect(page).not.toContain('<script')
})

it('says that nothing ran, and how much did not run', () => {
  const [passed, skipped] = [
    { ...FAILED, status: 'passed', failures: 0 },
    { ...FAILED, name: 'keys', status: 'skipped', failures: 0 },
  ] as const satisfies ScenarioResult[]
  expect(htmlReport(resultWith([skipped]))).toContain('✗ nothing ran')
  expect(htmlReport(resultWith([passed, skipped]))).toContain('✓ 1 passed, 1 not run')
  expect(htmlReport(resultWith([passed]))).toContain('✓ passed')
})

describe('a comparison', () => {
  const passed: ScenarioResult = { ...FAILED, name: 'accounting', status: 'passed', failures: 0, problems: [] }

  it('names the conditions in which the two differ', () => {
    const base = resultWith([passed])
    const change = {
      ...base,
      target: { ...base.target, url: 'https://other.example.com' },
      options: { ...base.options, rate: 40 },
    }
    expect(compareResults(base, base).differences).toEqual([])
    expect(compareResults(base, change).differences).toEqual([
      expect.stringMatching(/^url: https:.* in the first result, https:\/\/other\.example\.com in the second$/),
      'rate: not given in the first result, 40 in the second',
    ])
  })

  it('misses a scenario that passed and did not run again', () => {
    const skipped: ScenarioResult = { ...passed, status: 'skipped' }
    expect(compareResults(resultWith([passed]), resultWith([skipped])).notRun).toEqual(['accounting'])
    expect(compareResults(resultWith([passed]), resultWith([])).notRun).toEqual(['accounting'])
    expect(compareResults(resultWith([passed]), resultWith([passed])).notRun).toEqual([])
    expect(compareResults(resultWith([skipped]), resultWith([])).notRun).toEqual([])
  })

  it('compares no percentile of too few values, and marks nothing by the longest of them', () => {
    const timed = (count: number): ScenarioResult => ({
      ...passed,
      total: Latencies.of(Array.from({ length: count }, (_, index) => index + 1)).summary(),
    })
    const figures = (before: number, after: number): string[] =>
      compareResults(resultWith([timed(before)]), resultWith([timed(after)])).rows.map(({ figure }) => figure)
    expect(figures(100, 200)).toContain('p99 ms')
    expect(figures(20, 20)).toContain('longest ms')
    expect(figures(20, 20)).not.toContain('p99 ms')
    expect(figures(20, 200).filter((figure) => /p99|longest/.test(figure))).toEqual([])
  })
})

it('leaves out the plots of scenarios that have not run', () => {
  const skipped: ScenarioResult = { ...FAILED, name: 'buffered', status: 'skipped', failures: 0 }
  const report = htmlReport(resultWith([skipped]))
  expect(report).not.toContain('Throughput')
  expect(report).not.toContain('NaN')
})

it('has axes with the values on them', () => {
  expect(logScale([0.4, 30]).ticks).toEqual([0.1, 1, 10, 100])
  expect(logScale([0.4, 30]).place(1)).toBeCloseTo(1 / 3)
  expect(logScale([5, 10]).place(10)).toBe(1)
  expect(linearScale(5_727).ticks).toEqual([0, 2_000, 4_000, 6_000])
  expect(linearScale(0).ticks.length).toBeGreaterThan(1)
  expect(timeScale(65).ticks).toEqual([0, 20, 40, 60])
  expect(timeScale(65).place(65)).toBe(1)
  expect(TAIL_SCALE.place(0.9) - TAIL_SCALE.place(0)).toBeCloseTo(TAIL_SCALE.place(0.99) - TAIL_SCALE.place(0.9))
})

it.each([
  ['p99 ms', 10, 12, 'worse'],
  ['p99 ms', 10, 8, 'better'],
  ['p99 ms', 10, 10.5, null],
  ['per second', 10, 12, 'better'],
  ['sluice, hit rate %', 30, 20, 'worse'],
  ['failed', 0, 1, 'worse'],
  ['failed', 0, 0, null],
  ['longest ms', 10, 30, null],
])('marks %s from %d to %d as %s', (figure, base, change, direction) => {
  const ratio = base === 0 ? null : change / base
  expect(directionOf({ scenario: 'buffered', figure, base, change, ratio })).toBe(direction)
})
