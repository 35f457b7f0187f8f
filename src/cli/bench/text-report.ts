import type { Output } from '../output.ts'
import { P99_BOUNDS_MS } from './result.ts'
import type { BenchResult, Figure, ScenarioResult, Step } from './result.ts'
import { shownMs, shownNumber, shownPercent, shownTail } from './shown.ts'

const HEAD = ['scenario', 'result', 'requests', 'per s', 'p50', 'p99', 'first p99', 'late p99', 'events', 'CPU/request']

const LABELS = { failed: 'FAILED', skipped: 'skipped', passed: 'note' } as const

/** Prints a result as tables. */
export function printResult(result: BenchResult, output: Output): void {
  output.line('')
  output.table([HEAD, ...result.scenarios.map(rowOf)])
  for (const { steps, policies } of result.scenarios) {
    if (steps !== undefined) {
      output.line('')
      output.table([
        ['p99 at most', 'requests per s'],
        ...P99_BOUNDS_MS.map((bound) => [`${bound} ms`, shownBest(bestUnder(steps, bound))]),
      ])
    }
    if (policies !== undefined) {
      output.line('')
      output.table([
        ['policy', 'hit rate', 'wait p50', 'wait p99', 'busiest replica'],
        ...policies.map(({ name, hitRate, p50WaitMs, p99WaitMs, skew }) => [
          name,
          shownPercent(hitRate),
          shownMs(p50WaitMs),
          shownMs(p99WaitMs),
          `${skew.toFixed(2)} × the mean`,
        ]),
      ])
    }
  }
  for (const { name, status, problems } of result.scenarios) {
    for (const problem of problems) output.line(`${LABELS[status].padEnd(7)}  ${name}: ${problem}`)
  }
  if (result.target.paid) {
    const { spent } = result.target
    output.line(spent === null ? 'The price of the model is not known.' : `Spent about $${spent.toFixed(4)}.`)
  }
}

/** The most requests per second of the steps whose 99th percentile is within a bound; null: there is none. */
export function bestUnder(steps: readonly Step[], boundMs: number): number | null {
  const within = steps.filter(({ p99 }) => p99 <= boundMs).map(({ perSecond }) => perSecond)
  return within.length === 0 ? null : Math.max(...within)
}

export function shownFigure({ value, unit }: Figure): string {
  if (unit === 'ms') return shownMs(value)
  return unit === '' ? shownNumber(value) : `${shownNumber(value)} ${unit}`
}

function shownBest(best: number | null): string {
  return best === null ? '–' : shownNumber(best)
}

function rowOf(result: ScenarioResult): string[] {
  const { name, status, requests, perSecond, total, first, lateness, events, cpu } = result
  return [
    name,
    status,
    status === 'skipped' ? '' : shownNumber(requests),
    perSecond === null ? '' : shownNumber(perSecond),
    total === null ? '' : shownMs(total.p50),
    shownTail(total),
    shownTail(first),
    shownTail(lateness),
    events === null ? '' : shownNumber(events),
    cpu === null ? '' : `${shownNumber(cpu.perRequestUs)} µs`,
  ]
}
