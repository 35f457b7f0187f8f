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
    /** Of each pair. */
    rounds: { type: 'string', default: '4' },
    pairs: { type: 'string', default: '4' },
  },
})

/** What is promised. */
const MAX_RATIO = 1.05
const CONNECTIONS = 64
const PER_REQUEST = 'CPU µs/request'

/** One busy key under every kind of limit: what a request costs with the authority of the process, and with that of Redis. */
async function main(): Promise<boolean> {
  const redis = await TestRedis.start()
  const simulator = await startSimulator()
  try {
    const rounds: Round[] = []
    for (let pair = 0; pair < Number(values.pairs); pair++) rounds.push(...(await ofOnePair(simulator, redis)))
    console.table({
      'in process': middleOf(rounds.map(({ inProcess }) => inProcess)),
      'through Redis': middleOf(rounds.map(({ throughRedis }) => throughRedis)),
    })
    const ratios = rounds.map(({ inProcess, throughRedis }) => throughRedis[PER_REQUEST] / inProcess[PER_REQUEST])
    const ratio = median(ratios)
    const [least, most] = [Math.min(...ratios).toFixed(3), Math.max(...ratios).toFixed(3)]
    console.log(
      `CPU per request: ${ratio.toFixed(3)} × the authority of the process ` +
        `(median of ${ratios.length} rounds side by side; ${least} to ${most})`,
    )
    if (ratio > MAX_RATIO) console.log(`NOT HELD: at most ${MAX_RATIO} ×`)
    return ratio <= MAX_RATIO
  } finally {
    await simulator.stop()
    await redis.stop()
  }
}

interface Round {
  readonly inProcess: Cost
  readonly throughRedis: Cost
}

/** Two new gateways in turns: what the compiler has made of a process stays with it, and is a few per cent of its own. */
async function ofOnePair(simulator: Program, redis: TestRedis): Promise<Round[]> {
  const options = { upstreamBaseUrl: simulator.baseUrl, key: BUSY_LIMITS }
  const started: Program[] = []
  try {
    const alone = await startGateway(options)
    started.unshift(alone)
    const shared = await startGateway({ ...options, config: { redis: { url: redis.url } } })
    started.unshift(shared)
    const rounds: Round[] = []
    for (let round = 0; round < Number(values.rounds); round++) {
      // Who is first changes, so that a machine that becomes faster or slower favours neither.
      const early = round % 2 === 0 ? await costOf(alone, redis) : null
      const throughRedis = await costOf(shared, redis)
      rounds.push({ inProcess: early ?? (await costOf(alone, redis)), throughRedis })
    }
    return rounds
  } finally {
    for (const program of started) await program.stop()
  }
}

interface Cost {
  readonly [PER_REQUEST]: number
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
    [PER_REQUEST]: rounded(cpuUs(relayed) / requests),
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
    [PER_REQUEST]: middle(PER_REQUEST),
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
