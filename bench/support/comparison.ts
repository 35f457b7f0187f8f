import type { Cost, Unit } from './cost.ts'
import { rounded } from '../../src/cli/bench/machine.ts'
import { compareFigure } from './statistics.ts'
import type { Comparison, Pair } from './statistics.ts'

/** The measurements with one pair of gateways. */
export interface PairResult {
  readonly rounds: ReadonlyArray<Pair<Cost>>
  /** Cost of the simulator without a gateway. The latency that a gateway adds is the difference. */
  readonly direct: Cost
  /** Share of the machine that other programs took during the rounds. */
  readonly elsewhere: number
}

export interface ScenarioResult {
  readonly unit: Unit
  readonly figures: Readonly<Record<string, Comparison>>
  readonly errors: number
  readonly pairs: readonly PairResult[]
}

export function summarise(unit: Unit, pairs: readonly PairResult[]): ScenarioResult {
  const compare = (of: (cost: Cost, direct: Cost) => number): Comparison =>
    compareFigure(
      pairs.map(({ rounds, direct }) =>
        rounds.map(({ base, change }) => ({ base: of(base, direct), change: of(change, direct) })),
      ),
    )
  const costs = pairs.flatMap(({ rounds }) => rounds.flatMap(({ base, change }) => [base, change]))
  return {
    unit,
    figures: {
      [cpuFigure(unit)]: compare(({ cpuUs }) => cpuUs),
      'of it control': compare(({ controlUs }) => controlUs),
      [`${unit}s/s`]: compare(({ perSecond }) => perSecond),
      'added p50 ms': compare((cost, direct) => cost.p50Ms - direct.p50Ms),
      'added p99 ms': compare((cost, direct) => cost.p99Ms - direct.p99Ms),
      'memory MiB': compare(({ memoryMb }) => memoryMb),
    },
    errors: costs.reduce((sum, { errors }) => sum + errors, 0),
    pairs,
  }
}

/** One line of the printed table. */
export function shown({ base, change, ratio, interval }: Comparison): Readonly<Record<string, string | number>> {
  const { low, high, confidence } = interval
  return {
    base: rounded(base),
    change: rounded(change),
    ratio: thousandths(ratio.median),
    'of the median':
      confidence > 0 ? `${low.toFixed(3)} to ${high.toFixed(3)} (${Math.round(confidence * 100)} %)` : '–',
    min: thousandths(ratio.min),
    '1st quartile': thousandths(ratio.lowerQuartile),
    '3rd quartile': thousandths(ratio.upperQuartile),
    max: thousandths(ratio.max),
    rounds: ratio.count,
  }
}

/** The reasons why a comparison fails; empty when it holds. @param maxRatio largest allowed median ratio of the CPU */
export function problemsOf(name: string, { unit, figures, errors }: ScenarioResult, maxRatio: number): string[] {
  const ratio = figures[cpuFigure(unit)]?.ratio.median ?? NaN
  return [
    ...(errors > 0 ? [`${name}: ${errors} requests failed`] : []),
    // NaN, without any ratio, fails too.
    ...(ratio <= maxRatio ? [] : [`${name}: ${cpuFigure(unit)} is ${ratio.toFixed(3)} × base, at most ${maxRatio} ×`]),
  ]
}

function cpuFigure(unit: Unit): string {
  return `CPU µs/${unit}`
}

/** A dash for NaN: no round has a ratio. */
function thousandths(value: number): number | string {
  return Number.isNaN(value) ? '–' : Math.round(value * 1_000) / 1_000
}
