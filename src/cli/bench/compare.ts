import { readFileSync } from 'node:fs'
import { isObject } from '../../shared/config/is-object.ts'
import { UsageError } from '../../shared/config/config-error.ts'
import type { Output } from '../output.ts'
import { isMeasured } from './latencies.ts'
import type { LatencySummary } from './latencies.ts'
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
  /** Scenarios that passed in the first result and did not run in the second. */
  readonly notRun: ReadonlyArray<ScenarioResult['name']>
  /** Conditions in which the two differ: figures under different conditions say nothing of the change. */
  readonly differences: readonly string[]
}

/** Reads two results, base first. Throws UsageError. */
export function compareFiles(files: readonly string[]): Comparison {
  const [first, second, ...more] = files
  if (first === undefined || second === undefined || more.length > 0) {
    throw new UsageError(`--compare takes two files, base first: it got ${files.length}`)
  }
  return compareResults(readResult(first), readResult(second))
}

export function compareResults(base: BenchResult, change: BenchResult): Comparison {
  const newlyFailed = change.scenarios.filter(
    ({ name, status }) => status === 'failed' && base.scenarios.find((one) => one.name === name)?.status !== 'failed',
  )
  const ran = new Set(change.scenarios.filter(({ status }) => status !== 'skipped').map(({ name }) => name))
  const notRun = base.scenarios
    .filter(({ name, status }) => status === 'passed' && !ran.has(name))
    .map(({ name }) => name)
  return { base, change, rows: compared(base, change), newlyFailed, notRun, differences: differencesOf(base, change) }
}

/** Prints the figures side by side. */
export function printComparison(comparison: Comparison, output: Output): void {
  const { rows, newlyFailed, notRun, differences } = comparison
  for (const difference of differences) output.line(`DIFFERS  ${difference}`)
  output.table([
    ['scenario', 'figure', 'base', 'change', 'ratio'],
    ...rows.map((row) => [row.scenario, row.figure, ...shownPair(row), shownRatio(row)]),
  ])
  for (const { name, problems } of newlyFailed) output.line(`FAILED   ${name}: ${problems[0] ?? ''}`)
  for (const name of notRun) output.line(`NOT RUN  ${name}: it passed in the first result`)
  output.value(valueOf(comparison))
}

/** The comparison as `--json` gives it. */
export function valueOf({ base, change, rows, newlyFailed, notRun, differences }: Comparison): object {
  return {
    base: aboutOf(base),
    change: aboutOf(change),
    differences,
    figures: rows,
    newly_failed: newlyFailed.map(({ name }) => name),
    not_run: notRun,
  }
}

/** The laboratory has another port at each start. */
function conditionsOf({ machine, target, options }: BenchResult): Map<string, string> {
  const conditions: Readonly<Record<string, unknown>> = {
    processor: `${machine.cpus} × ${machine.model}`,
    node: machine.node,
    target: target.kind,
    ...(target.kind === 'deployment' ? { url: target.url } : {}),
    model: target.model,
    ...options,
  }
  return new Map(Object.entries(conditions).map(([name, value]) => [name, inText(value)]))
}

function inText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function differencesOf(base: BenchResult, change: BenchResult): string[] {
  const [before, after] = [conditionsOf(base), conditionsOf(change)]
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((name) => {
    const [old, now] = [before.get(name) ?? 'not given', after.get(name) ?? 'not given']
    return old === now ? [] : [`${name}: ${old} in the first result, ${now} in the second`]
  })
}

export function shownPair({ figure, base, change }: Compared): readonly [string, string] {
  return [shown(figure, base), shown(figure, change)]
}

export function shownRatio({ ratio }: Compared): string {
  return ratio?.toFixed(2) ?? '–'
}

const LONGEST = 'longest ms'
/** Ratios that are nearer to 1 say little about a single run. */
const NOTABLE = 0.1

/** Null: the figures do not differ by more than runs do. */
export function directionOf({ figure, base, change, ratio }: Compared): 'better' | 'worse' | null {
  // The longest of few values differs from run to run.
  if (figure.endsWith(LONGEST)) return null
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
    tailOf('', total),
    tailOf('first event ', first),
    tailOf('lateness ', lateness),
    ['CPU µs/request', cpu?.perRequestUs],
    ['CPU µs/event', cpu?.perEventUs],
    ...(policies ?? []).flatMap(({ name, hitRate, p99WaitMs }): Array<[string, number]> => [
      [`${name}, hit rate %`, hitRate * 100],
      [`${name}, wait p99 ms`, p99WaitMs],
    ]),
  ]
  return figures.flatMap(([name, value]) => (typeof value === 'number' ? [[name, value] as [string, number]] : []))
}

/** Figures of different names are not compared: the longest of few values is no percentile. */
function tailOf(prefix: string, summary: LatencySummary | null): [string, number | undefined] {
  if (summary === null || isMeasured(summary, 0.99)) return [`${prefix}p99 ms`, summary?.p99]
  return [`${prefix}${LONGEST}`, summary.max]
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
