import { setTimeout as elapsed } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { load } from '../support/load-client.ts'
import { startGateway, startSimulator } from '../support/programs.ts'
import { restUse } from '../support/rest-use.ts'
import { BUFFERED } from './table.ts'

const { values } = parseArgs({
  options: {
    /** Seconds of rest that are measured. */
    seconds: { type: 'string', default: '10' },
    /** Seconds of requests before the rest. */
    load: { type: 'string', default: '3' },
    /** Seconds between the requests and the measurement: idle connections to upstreams close, idle leases go back. */
    quiet: { type: 'string', default: '8' },
    fronts: { type: 'string', default: '1' },
  },
})

/** A front at rest may wake so many times a second. */
const MAX_FRONT_WAKES = 25

/** Measures a gateway at rest: never asked for anything, and after requests. */
async function main(): Promise<boolean> {
  const simulator = await startSimulator()
  const config = { server: { host: '127.0.0.1', port: 0, fronts: Number(values.fronts), drain_announce_ms: 0 } }
  const gateway = await startGateway({ upstreamBaseUrl: simulator.baseUrl, config })
  try {
    const isQuietBefore = await report('after the start', gateway.pid)
    const loaded = { body: BUFFERED, connections: 8, seconds: Number(values.load), spreadMs: 0 }
    const { lastRequestId, errors } = await load(gateway, loaded)
    await gateway.settled(lastRequestId)
    if (errors > 0) console.log(`${errors} requests failed`)
    const isQuietAfter = await report('after requests', gateway.pid)
    return isQuietBefore && isQuietAfter && errors === 0
  } finally {
    await gateway.stop()
    await simulator.stop()
  }
}

async function report(when: string, pid: number): Promise<boolean> {
  await elapsed(Number(values.quiet) * 1000)
  const uses = await restUse(pid, () => elapsed(Number(values.seconds) * 1000))
  console.log(`\nat rest, ${when}`)
  console.table(
    uses.map(({ name, loopWakes, wakes, cpuMs, residentMb, memoryMb }) => ({
      process: name,
      'wakes/s': rounded(loopWakes),
      'of all threads': rounded(wakes),
      'CPU ms/s': rounded(cpuMs),
      'resident MiB': rounded(residentMb),
      'memory MiB': rounded(memoryMb),
    })),
  )
  console.log(`memory of all processes: ${Math.round(uses.reduce((sum, { memoryMb }) => sum + memoryMb, 0))} MiB`)
  const loud = uses.filter(({ name, loopWakes }) => name === 'front' && loopWakes > MAX_FRONT_WAKES)
  if (loud.length > 0) console.log(`NOT HELD: a front wakes at most ${MAX_FRONT_WAKES} times a second`)
  return loud.length === 0
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100
}

process.exitCode = (await main()) ? 0 : 1
