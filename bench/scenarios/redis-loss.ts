import { parseArgs } from 'node:util'
import { TestRedis } from '../../test/support/redis.ts'
import { BUSY_BODY, BUSY_LIMITS } from '../support/busy-key.ts'
import { startGateway, startSimulator } from '../support/programs.ts'
import type { Program } from '../../src/cli/bench/programs.ts'
import { steadyLoad } from '../support/steady-load.ts'
import { median, percentile } from '../support/statistics.ts'

const { values } = parseArgs({
  options: {
    /** Seconds of each loss, and of the time before it. */
    seconds: { type: 'string', default: '10' },
    rounds: { type: 'string', default: '3' },
    /** Requests per second. */
    rate: { type: 'string', default: '300' },
  },
})

/** The promised bound (P16) of the additional 99th percentile, from one second after the loss. */
const MAX_ADDED_MS = 5
const NOTICED_SECONDS = 1
const WARM_UP_SECONDS = 8

const LOSSES: Readonly<
  Record<string, { lose(redis: TestRedis): Promise<void>; bringBack(redis: TestRedis): Promise<void> }>
> = {
  'does not answer': { lose: (redis) => redis.kill('SIGSTOP'), bringBack: (redis) => redis.kill('SIGCONT') },
  'is gone, comes back empty': { lose: (redis) => redis.kill('SIGKILL'), bringBack: (redis) => redis.restart() },
}

/** Measures the latency of a gateway while its Redis is lost and after it comes back. */
async function main(): Promise<boolean> {
  const redis = await TestRedis.start()
  const simulator = await startSimulator()
  const started: Program[] = [simulator]
  try {
    const gateway = await startGateway({
      upstreamBaseUrl: simulator.baseUrl,
      key: BUSY_LIMITS,
      config: { redis: { url: redis.url } },
    })
    started.unshift(gateway)
    await during(gateway, WARM_UP_SECONDS)
    const seconds = Number(values.seconds)
    const rows: Record<string, Record<string, number>> = {}
    let held = true
    for (const [name, { lose, bringBack }] of Object.entries(LOSSES)) {
      const added: number[] = []
      let errors = 0
      for (let round = 0; round < Number(values.rounds); round++) {
        const calm = await during(gateway, seconds)
        await lose(redis)
        const first = await during(gateway, NOTICED_SECONDS)
        const lost = await during(gateway, seconds)
        await bringBack(redis)
        const back = await during(gateway, seconds)
        added.push(lost.p99Ms - calm.p99Ms)
        errors += [calm, first, lost, back].reduce((sum, phase) => sum + phase.errors, 0)
        rows[`${name}, ${round}`] = {
          'p99 ms before': calm.p99Ms,
          'first second': first.p99Ms,
          'while it is lost': lost.p99Ms,
          'when it is back': back.p99Ms,
        }
      }
      const addedMs = median(added)
      console.log(`Redis ${name}: p99 ${addedMs.toFixed(2)} ms more, ${errors} failed`)
      if (addedMs > MAX_ADDED_MS || errors > 0) held = false
    }
    console.table(rows)
    if (!held) console.log(`NOT HELD: at most ${MAX_ADDED_MS} ms more, and no request fails`)
    return held
  } finally {
    for (const program of started) await program.stop()
    await redis.stop()
  }
}

async function during(gateway: Program, seconds: number): Promise<{ p99Ms: number; errors: number }> {
  const { totalMs, errors } = await steadyLoad(gateway, {
    body: BUSY_BODY,
    connections: 8,
    seconds,
    rate: Number(values.rate),
  })
  return { p99Ms: Math.round(percentile(totalMs, 0.99) * 100) / 100, errors }
}

process.exitCode = (await main()) ? 0 : 1
