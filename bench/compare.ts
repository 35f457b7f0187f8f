import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startPostgres } from '../test/support/postgres.ts'
import { countedScenarios } from './scenarios/table.ts'
import type { Scenario } from './scenarios/table.ts'
import { checkAnswer, checkText } from './support/check.ts'
import { Checkouts } from './support/checkouts.ts'
import { problemsOf, shown, summarise } from './support/comparison.ts'
import type { PairResult, ScenarioResult } from './support/comparison.ts'
import { costOf } from './support/cost.ts'
import { inNewPairs, inTurns } from './support/new-pairs.ts'
import { besideOthers } from '../src/cli/bench/process-use.ts'
import { startGateway, startSimulator } from './support/programs.ts'
import type { Gateway, Program } from '../src/cli/bench/programs.ts'
import { machine, writeReport } from '../src/cli/bench/machine.ts'
import type { Pair, Side } from './support/statistics.ts'

const { values } = parseArgs({
  options: {
    /** The folder of a checkout, or a Git revision. */
    base: { type: 'string' },
    change: { type: 'string', default: '.' },
    /** Runs only scenarios whose name begins with this; may be given several times. */
    only: { type: 'string', multiple: true, default: [''] },
    /** Number of new pairs of gateways for each scenario. */
    pairs: { type: 'string', default: '6' },
    /** Rounds with each pair. */
    rounds: { type: 'string', default: '2' },
    /** Seconds of load for each gateway and round. */
    seconds: { type: 'string', default: '4' },
    /** Largest allowed median of CPU of change / CPU of base, for each scenario. */
    max: { type: 'string', default: 'Infinity' },
    postgres: { type: 'boolean', default: false },
    out: { type: 'string', default: 'test-results/compare.json' },
  },
})

/** Measures the cost of a request or an event with two builds, in interleaved rounds, and prints the ratio. */
async function main(): Promise<boolean> {
  if (values.base === undefined) throw new Error('--base is missing: name the folder of a checkout, or a Git revision')
  const [pairs, rounds] = [positive('pairs'), positive('rounds')]
  const maxRatio = positive('max')
  const scenarios = chosen(countedScenarios(positive('seconds')))
  const builds = build({ base: values.base, change: values.change })
  for (const [side, { name, commit }] of Object.entries(builds)) console.log(`${side}: ${name} (${commit})`)
  const simulator = await startSimulator()
  const postgres = values.postgres ? await startPostgres() : null
  const starter = (side: Side) => async (): Promise<Gateway> =>
    startGateway({
      upstreamBaseUrl: simulator.baseUrl,
      dist: join(builds[side].folder, 'dist'),
      config: postgres === null ? {} : { database: { url: await postgres.createDatabase() } },
    })
  const results: Record<string, ScenarioResult> = {}
  try {
    for (const scenario of scenarios) {
      console.log(`\n${scenario.name}`)
      const measured = await inNewPairs(
        pairs,
        { base: starter('base'), change: starter('change') },
        (gateways, first) => measure(scenario, simulator, gateways, { rounds, first }),
      )
      const result = summarise(scenario.unit, measured)
      results[scenario.name] = result
      console.table(Object.fromEntries(Object.entries(result.figures).map(([name, figure]) => [name, shown(figure)])))
      writeReport(values.out, { machine: machine(), ...builds, options: values, results })
    }
  } finally {
    await simulator.stop()
    await postgres?.stop()
  }
  console.log(`\nwritten to ${values.out}`)
  const problems = Object.entries(results).flatMap(([name, result]) => problemsOf(name, result, maxRatio))
  for (const problem of problems) console.log(`NOT HELD: ${problem}`)
  return problems.length === 0
}

function positive(option: 'pairs' | 'rounds' | 'seconds' | 'max'): number {
  const value = Number(values[option])
  if (value > 0) return value
  throw new Error(`--${option} must be a number above 0`)
}

function chosen(all: readonly Scenario[]): readonly Scenario[] {
  const asked = all.filter(({ name }) => values.only.some((start) => name.startsWith(start)))
  if (asked.length > 0) return asked
  throw new Error(`--only must be the beginning of one of: ${all.map(({ name }) => `\n  ${name}`).join('')}`)
}

function build(names: Pair<string>): Pair<ReturnType<Checkouts['build']>> {
  const checkouts = new Checkouts('.')
  process.once('exit', () => {
    checkouts.remove()
  })
  // A process that a signal ends emits no `exit` event.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
  return { base: checkouts.build(names.base), change: checkouts.build(names.change) }
}

async function measure(
  { translates, body, unit, run }: Scenario,
  simulator: Program,
  gateways: Pair<Gateway>,
  order: { readonly rounds: number; readonly first: Side },
): Promise<PairResult> {
  const check = translates === undefined ? checkAnswer : checkText
  for (const gateway of [gateways.base, gateways.change]) await check(simulator, gateway, body)
  const direct = costOf(await run(simulator), unit)
  const { result: rounds, elsewhere } = await besideOthers(() =>
    inTurns(gateways, order, async (gateway) => costOf(await run(gateway), unit)),
  )
  const ratios = rounds.map(({ base, change }) => (change.cpuUs / base.cpuUs).toFixed(3))
  const others = `other programs took ${Math.round(elsewhere * 100)} % of the machine`
  console.log(`CPU of change / base: ${ratios.join(', ')} (${others})`)
  return { rounds, direct, elsewhere }
}

process.exitCode = (await main()) ? 0 : 1
