import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import type { Measured, RelayOptions } from './scenarios/relay.ts'
import { measureRelay } from './scenarios/relay.ts'
import { startGateway, startSimulator } from './support/programs.ts'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '8' },
    connections: { type: 'string', default: '64' },
    profile: { type: 'string' },
    out: { type: 'string', default: 'test-results/bench.json' },
  },
})
const load = { seconds: Number(values.seconds), connections: Number(values.connections) }
const SCENARIOS: Readonly<Record<string, RelayOptions>> = {
  buffered: { ...load, stream: false, tokens: 60 },
  streamed: { ...load, stream: true, tokens: 50 },
}

/** The gateway beside its own upstream, in one run: figures of different runs do not compare. */
async function main(): Promise<void> {
  const simulator = await startSimulator()
  const gateway = await startGateway(simulator.baseUrl, values.profile ?? null)
  const results: Record<string, Measured[]> = {}
  try {
    for (const [name, options] of Object.entries(SCENARIOS)) {
      console.log(`\n${name}, ${options.connections} connections, ${options.tokens} tokens`)
      const direct = await measureRelay('simulator, direct', simulator, options)
      const relayed = await measureRelay('sluice', gateway, options)
      results[name] = [direct, relayed]
      console.table(results[name])
    }
  } finally {
    await gateway.stop()
    await simulator.stop()
  }
  mkdirSync('test-results', { recursive: true })
  const machine = { node: process.version, cpus: cpus().length, model: cpus()[0]?.model, commit: commit() }
  writeFileSync(values.out, `${JSON.stringify({ machine, results }, null, 2)}\n`)
  console.log(`\nwritten to ${values.out}`)
}

function commit(): string {
  try {
    return execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim()
  } catch {
    return 'unknown'
  }
}

await main()
