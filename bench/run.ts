import { parseArgs } from 'node:util'
import type { Relayed } from './scenarios/relay.ts'
import type { Row, Scenario } from './scenarios/table.ts'
import { scenarios } from './scenarios/table.ts'
import { checkAnswer, checkText } from './support/check.ts'
import { nginxVersion, startNginx } from './support/nginx.ts'
import type { Program } from '../src/cli/bench/programs.ts'
import { startGateway, startSimulator } from './support/programs.ts'
import { commitOf, machine, rounded, writeReport } from '../src/cli/bench/machine.ts'

const { values } = parseArgs({
  options: {
    /** Seconds of load for each target and round. */
    seconds: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '6' },
    /** Runs only scenarios whose name begins with this, and those that they are compared with. */
    only: { type: 'string', default: '' },
    /** Does not measure nginx and the simulator. */
    alone: { type: 'boolean', default: false },
    /** A directory for a CPU profile of each process of the gateway. */
    profile: { type: 'string' },
    out: { type: 'string', default: 'test-results/bench.json' },
  },
})

const NO_NGINX = 'nginx is not installed: its figures are left out; on Debian: apt-get install nginx-light'

const OTHERS_NICENESS = 10

/** Compares Sluice with nginx as a plain proxy, with the same upstream and in one run: figures of different runs are not comparable. */
async function main(): Promise<void> {
  const nginx = nginxVersion()
  console.log(nginx === null ? NO_NGINX : `beside ${nginx}, plain proxy, one worker`)
  const simulator = await startSimulator()
  // Reading large bodies takes time: they go to a second upstream, of lower priority, as if it were on another machine.
  const other = await startSimulator(OTHERS_NICENESS)
  const started: Program[] = [simulator, other]
  const results: Record<string, Record<string, Row>> = {}
  try {
    const gateway = await startGateway({
      upstreamBaseUrl: simulator.baseUrl,
      otherBaseUrl: other.baseUrl,
      profileDir: values.profile ?? null,
    })
    started.unshift(gateway)
    for (const scenario of chosen(scenarios(Number(values.seconds)))) {
      const targets: Record<string, Program> = { sluice: gateway }
      const others = !values.alone && scenario.translates === undefined && scenario.undisturbed === undefined
      if (others) targets['the simulator itself'] = simulator
      if (nginx !== null && others) {
        const proxy = await startNginx(simulator.baseUrl, scenario.unit === 'event' ? 'off' : 'on')
        started.unshift(proxy)
        targets['nginx'] = proxy
      }
      const rows = await compare(scenario, targets, simulator)
      results[scenario.name] = rows
      if (scenario.translates !== undefined) printRatio(rows['sluice'], results[scenario.translates]?.['sluice'])
    }
  } finally {
    for (const program of started) await program.stop()
  }
  writeReport(values.out, { machine: { ...machine(), nginx, commit: commitOf('.') }, results })
  console.log(`\nwritten to ${values.out}`)
}

/** The scenarios that `--only` names, and those that they are compared with. */
function chosen(all: readonly Scenario[]): readonly Scenario[] {
  const asked = all.filter(({ name }) => name.startsWith(values.only))
  const beside = new Set(asked.map(({ translates }) => translates))
  return all.filter((scenario) => asked.includes(scenario) || beside.has(scenario.name))
}

/** Measures the targets in turns, round by round, so that other load of the machine affects all of them. */
async function compare(
  scenario: Scenario,
  targets: Readonly<Record<string, Program>>,
  simulator: Program,
): Promise<Record<string, Row>> {
  console.log(`\n${scenario.name}`)
  const check = scenario.translates === undefined ? checkAnswer : checkText
  for (const target of Object.values(targets)) await check(simulator, target, scenario.body)
  const ways: Record<string, () => Promise<Relayed>> = {}
  for (const [name, target] of Object.entries(targets)) {
    ways[name] = () => scenario.run(target)
    const { undisturbed } = scenario
    if (undisturbed !== undefined) ways[`${name}, undisturbed`] = () => undisturbed(target)
  }
  const rounds: Record<string, Relayed[]> = Object.fromEntries(Object.keys(ways).map((name) => [name, []]))
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const [name, run] of Object.entries(ways)) rounds[name]?.push(await run())
  }
  const rows = Object.fromEntries(
    Object.entries(rounds).map(([name, of]) => [name, roundedRow(scenario.summarise(of))]),
  )
  console.table(rows)
  if (scenario.undisturbed !== undefined) printMoved(rows['sluice'], rows['sluice, undisturbed'])
  const [sluice, nginx] = [rows['sluice'], rows['nginx']]
  if (sluice === undefined || nginx === undefined) return rows
  for (const column of Object.keys(sluice).filter((name) => name.startsWith('CPU'))) {
    console.log(`${column}: ${((sluice[column] ?? NaN) / (nginx[column] ?? NaN)).toFixed(2)} × nginx`)
  }
  for (const column of Object.keys(sluice).filter((name) => name.endsWith(' ms'))) {
    const added = (sluice[column] ?? NaN) - (rows['the simulator itself']?.[column] ?? NaN)
    const byNginx = (nginx[column] ?? NaN) - (rows['the simulator itself']?.[column] ?? NaN)
    console.log(`added ${column}: ${added.toFixed(2)} (nginx ${byNginx.toFixed(2)})`)
  }
  return rows
}

function printRatio(translated: Row | undefined, same: Row | undefined): void {
  for (const column of Object.keys(translated ?? {}).filter((name) => name.startsWith('CPU'))) {
    const ratio = (translated?.[column] ?? NaN) / (same?.[column] ?? NaN)
    console.log(`${column}: ${ratio.toFixed(2)} × the same dialect`)
  }
}

function printMoved(disturbed: Row | undefined, alone: Row | undefined): void {
  for (const column of Object.keys(disturbed ?? {}).filter((name) => name.endsWith(' ms'))) {
    console.log(`${column} moved by ${((disturbed?.[column] ?? NaN) - (alone?.[column] ?? NaN)).toFixed(2)}`)
  }
}

function roundedRow(row: Row): Row {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, rounded(value)]))
}

await main()
