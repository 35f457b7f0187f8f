import { parseArgs } from 'node:util'
import { TestRedis } from '../../test/support/redis.ts'
import { BUSY_BODY, BUSY_LIMITS } from '../support/busy-key.ts'
import { relay } from './relay.ts'
import type { Relayed } from './relay.ts'
import { percentile } from '../support/load-client.ts'
import { machineUse } from '../support/process-use.ts'
import { startGateway, startSimulator } from '../support/programs.ts'
import type { Program } from '../support/programs.ts'

const { values } = parseArgs({
  options: {
    /** Of load per gateway and round. */
    seconds: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '12' },
  },
})

/** What is promised. */
const MAX_RATIO = 1.05
const CONNECTIONS = 64

/** One busy key under every kind of limit: what a request costs with the authority of the process, and with that of Redis. */
async function main(): Promise<boolean> {
  const redis = await TestRedis.start()
  const simulator = await startSimulator()
  const started: Program[] = [simulator]
  try {
    const options = { upstreamBaseUrl: simulator.baseUrl, key: BUSY_LIMITS }
    const alone = await startGateway(options)
    started.unshift(alone)
    const shared = await startGateway({ ...options, config: { redis: { url: redis.url } } })
    started.unshift(shared)
    const costs = { 'in process': [] as Cost[], 'through Redis': [] as Cost[] }
    const ratios: number[] = []
    for (let round = 0; round < Number(values.rounds); round++) {
      // Who is first changes, so that a machine that becomes faster or slower favours neither.
      const inProcessFirst = round % 2 === 0
      if (inProcessFirst) costs['in process'].push(await costOf(alone, redis))
      const cost = await costOf(shared, redis)
      costs['through Redis'].push(cost)
      if (!inProcessFirst) costs['in process'].push(await costOf(alone, redis))
      ratios.push(cost['CPU µs/request'] / (costs['in process'][round]?.['CPU µs/request'] ?? NaN))
    }
    console.table(Object.fromEntries(Object.entries(costs).map(([name, of]) => [name, middleOf(of)])))
    const ratio = median(ratios)
    const [least, most] = [Math.min(...ratios).toFixed(3), Math.max(...ratios).toFixed(3)]
    console.log(
      `CPU per request: ${ratio.toFixed(3)} × the authority of the process ` +
        `(median of ${ratios.length} rounds side by side; ${least} to ${most})`,
    )
    if (ratio > MAX_RATIO) console.log(`NOT HELD: at most ${MAX_RATIO} ×`)
    return ratio <= MAX_RATIO
  } finally {
    for (const program of started) await program.stop()
    await redis.stop()
  }
}

interface Cost {
  readonly 'CPU µs/request': number
  readonly 'of it control': number
  readonly 'Redis µs/request': number
  readonly 'requests/s': number
  readonly errors: number
  /** Share of the machine that was busy. */
  readonly busy: number
}

async function costOf(gateway: Program, redis: TestRedis): Promise<Cost> {
  const before = { redisUs: await usedBy(redis), machine: machineUse() }
  const relayed = await relay(gateway, {
    body: BUSY_BODY,
    connections: CONNECTIONS,
    seconds: Number(values.seconds),
    spreadMs: 0,
  })
  const machine = machineUse()
  const { requests, errors, seconds } = relayed.result
  return {
    'CPU µs/request': rounded(cpuUs(relayed) / requests),
    'of it control': rounded((relayed.cpuUs.get('control') ?? 0) / requests),
    // With the warm-up, which the requests are not.
    'Redis µs/request': rounded(((await usedBy(redis)) - before.redisUs) / requests),
    'requests/s': rounded(requests / seconds),
    errors,
    busy: rounded((machine.busy - before.machine.busy) / (machine.all - before.machine.all)),
  }
}

/** Microseconds of CPU so far. */
async function usedBy(redis: TestRedis): Promise<number> {
  const info = await redis.command((client) => client.info('cpu'))
  const seconds = [...info.matchAll(/^used_cpu_(?:user|sys):([\d.]+)/gm)].reduce(
    (sum, [, text]) => sum + Number(text),
    0,
  )
  return seconds * 1_000_000
}

/** Of each figure the median. */
function middleOf(costs: readonly Cost[]): Cost {
  const middle = (figure: keyof Cost): number => rounded(median(costs.map((cost) => cost[figure])))
  return {
    'CPU µs/request': middle('CPU µs/request'),
    'of it control': middle('of it control'),
    'Redis µs/request': middle('Redis µs/request'),
    'requests/s': middle('requests/s'),
    errors: Math.max(...costs.map(({ errors }) => errors)),
    busy: middle('busy'),
  }
}

function median(values: readonly number[]): number {
  return percentile(values, 0.5)
}

function cpuUs({ cpuUs: used }: Relayed): number {
  return total(used)
}

function total(used: ReadonlyMap<string, number>): number {
  return [...used.values()].reduce((sum, us) => sum + us, 0)
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100
}

process.exitCode = (await main()) ? 0 : 1
