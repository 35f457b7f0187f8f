import { readFileSync } from 'node:fs'
import { isObject } from '../../shared/config/is-object.ts'
import { UsageError } from '../../shared/config/config-error.ts'
import type { Output } from '../output.ts'
import type { BenchResult, ScenarioResult } from './result.ts'
import { shownMs, shownNumber } from './shown.ts'

/** One figure of two results. */
export interface Compared {
  readonly scenario: ScenarioResult['name']
  readonly figure: string
  readonly base: number
  readonly change: number
  /** change / base; null: the base is 0. */
  readonly ratio: number | null
}

/** Two results and their figures. */
export interface Comparison {
  readonly base: BenchResult
  readonly change: BenchResult
  readonly rows: readonly Compared[]
  /** Scenarios that fail in the second result and not in the first. */
  readonly newlyFailed: readonly ScenarioResult[]
}

/** Reads two results, base first. Throws UsageError. */
export function compareFiles(files: readonly string[]): Comparison {
  const [first, second, ...more] = files
  if (first === undefined || second === undefined || more.length > 0) {
    throw new UsageError(`--compare takes two files, base first: it got ${files.length}`)
  }
  const [base, change] = [readResult(first), readResult(second)]
  const newlyFailed = change.scenarios.filter(
    ({ name, status }) => status === 'failed' && base.scenarios.find((one) => one.name === name)?.status !== 'failed',
  )
  return { base, change, rows: compared(base, change), newlyFailed }
}

/** Prints the figures side by side. */
export function printComparison({ base, change, rows, newlyFailed }: Comparison, output: Output): void {
  if (!isOneMachine(base, change)) output.note(OTHER_MACHINE)
  output.table([
    ['scenario', 'figure', 'base', 'change', 'ratio'],
    ...rows.map((row) => [row.scenario, row.figure, ...shownPair(row), shownRatio(row)]),
  ])
  for (const { name, problems } of newlyFailed) output.line(`FAILED  ${name}: ${problems[0] ?? ''}`)
  output.value({
    base: aboutOf(base),
    change: aboutOf(change),
    figures: rows,
    newly_failed: newlyFailed.map(({ name }) => name),
  })
}

export const OTHER_MACHINE = 'the results are of different machines: compare only figures of one machine'

export function isOneMachine(base: BenchResult, change: BenchResult): boolean {
  return base.machine.model === change.machine.model && base.machine.cpus === change.machine.cpus
}

export function shownPair({ figure, base, change }: Compared): readonly [string, string] {
  return [shown(figure, base), shown(figure, change)]
}

export function shownRatio({ ratio }: Compared): string {
  return ratio?.toFixed(2) ?? '–'
}

/** Ratios that are nearer to 1 say little about a single run. */
const NOTABLE = 0.1

/** Null: the figures do not differ by more than runs do. */
export function directionOf({ figure, base, change, ratio }: Compared): 'better' | 'worse' | null {
  if (ratio === null ? change === base : Math.abs(ratio - 1) <= NOTABLE) return null
  const isMoreBetter = figure === 'per second' || figure.endsWith('hit rate %')
  return change > base === isMoreBetter ? 'better' : 'worse'
}

function aboutOf({ at, version, commit, machine, target }: BenchResult): object {
  return { at, version, commit, machine, target }
}

function compared(base: BenchResult, change: BenchResult): Compared[] {
  return change.scenarios.flatMap((after) => {
    const before = base.scenarios.find(({ name }) => name === after.name)
    if (before === undefined) return []
    const earlier = new Map(figuresOf(before))
    return figuresOf(after).flatMap(([figure, value]): Compared[] => {
      const old = earlier.get(figure)
      return old === undefined
        ? []
        : [{ scenario: after.name, figure, base: old, change: value, ratio: old === 0 ? null : value / old }]
    })
  })
}

function figuresOf({
  status,
  perSecond,
  total,
  first,
  lateness,
  cpu,
  policies,
  failures,
}: ScenarioResult): Array<[string, number]> {
  if (status === 'skipped') return []
  const figures: Array<[string, number | undefined | null]> = [
    ['failed', failures],
    ['per second', perSecond],
    ['p50 ms', total?.p50],
    ['p99 ms', total?.p99],
    ['first event p99 ms', first?.p99],
    ['lateness p99 ms', lateness?.p99],
    ['CPU µs/request', cpu?.perRequestUs],
    ['CPU µs/event', cpu?.perEventUs],
    ...(policies ?? []).flatMap(({ name, hitRate, p99WaitMs }): Array<[string, number]> => [
      [`${name}, hit rate %`, hitRate * 100],
      [`${name}, wait p99 ms`, p99WaitMs],
    ]),
  ]
  return figures.flatMap(([name, value]) => (typeof value === 'number' ? [[name, value] as [string, number]] : []))
}

function shown(figure: string, value: number): string {
  return figure.endsWith(' ms') ? shownMs(value) : shownNumber(value)
}

function readResult(file: string): BenchResult {
  let value: unknown
  try {
    value = JSON.parse(readFileSync(file, 'utf8'))
  } catch (cause) {
    throw new UsageError(`--compare ${file} cannot be read: ${(cause as Error).message}`)
  }
  if (isObject(value) && value['format'] === 1 && Array.isArray(value['scenarios']))
    return value as unknown as BenchResult
  throw new UsageError(`--compare ${file} is no result of sluice bench: write one with sluice bench --json ${file}`)
}
