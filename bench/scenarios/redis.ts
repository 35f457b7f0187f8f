import { parseArgs } from 'node:util'
import { TestRedis } from '../../test/support/redis.ts'
import { BUSY_BODY, BUSY_LIMITS } from '../support/busy-key.ts'
import { costOf } from '../support/cost.ts'
import { inNewPairs, inTurns } from '../support/new-pairs.ts'
import { machineUse } from '../../src/cli/bench/process-use.ts'
import { startGateway, startSimulator } from '../support/programs.ts'
import type { Program } from '../../src/cli/bench/programs.ts'
import { rounded } from '../../src/cli/bench/machine.ts'
import { compareFigure, median } from '../support/statistics.ts'
import { relay } from './relay.ts'

const { values } = parseArgs({
  options: {
    /** Seconds of load for each gateway and round. */
    seconds: { type: 'string', default: '4' },
    /** Rounds with each pair. */
    rounds: { type: 'string', default: '4' },
    pairs: { type: 'string', default: '4' },
  },
})

/** The promised bound. */
const MAX_RATIO = 1.05
const CONNECTIONS = 64
const PER_REQUEST = 'CPU µs/request'

/** Measures the CPU of a request of one busy key under every kind of limit, with the in-process authority and with Redis. */
async function main(): Promise<boolean> {
  const redis = await TestRedis.start()
  const simulator = await startSimulator()
  const options = { upstreamBaseUrl: simulator.baseUrl, key: BUSY_LIMITS }
  const start = {
    base: () => startGateway(options),
    change: () => startGateway({ ...options, config: { redis: { url: redis.url } } }),
  }
  try {
    const pairs = await inNewPairs(Number(values.pairs), start, (gateways, first) =>
      inTurns(gateways, { rounds: Number(values.rounds), first }, (gateway) => measure(gateway, redis)),
    )
    const rounds = pairs.flat()
    console.table({
      'in process': middleOf(rounds.map(({ base }) => base)),
      'through Redis': middleOf(rounds.map(({ change }) => change)),
    })
    const figures = pairs.map((of) =>
      of.map(({ base, change }) => ({ base: base[PER_REQUEST], change: change[PER_REQUEST] })),
    )
    const { ratio } = compareFigure(figures)
    console.log(
      `CPU per request: ${ratio.median.toFixed(3)} × the authority of the process ` +
        `(median of ${ratio.count} rounds side by side; ${ratio.min.toFixed(3)} to ${ratio.max.toFixed(3)})`,
    )
    const held = ratio.median <= MAX_RATIO
    if (!held) console.log(`NOT HELD: at most ${MAX_RATIO} ×`)
    return held
  } finally {
    await simulator.stop()
    await redis.stop()
  }
}

interface Measured {
  readonly [PER_REQUEST]: number
  readonly 'of it control': number
  readonly 'Redis µs/request': number
  readonly 'requests/s': number
  readonly errors: number
  /** Busy share of the machine. */
  readonly busy: number
}

async function measure(gateway: Program, redis: TestRedis): Promise<Measured> {
  const before = { redisUs: await usedBy(redis), machine: machineUse() }
  const relayed = await relay(gateway, {
    body: BUSY_BODY,
    connections: CONNECTIONS,
    seconds: Number(values.seconds),
    spreadMs: 0,
  })
  const machine = machineUse()
  const cost = costOf(relayed, 'request')
  return {
    [PER_REQUEST]: rounded(cost.cpuUs),
    'of it control': rounded(cost.controlUs),
    // An upper bound: the CPU includes that of the warm-up, `requests` does not.
    'Redis µs/request': rounded(((await usedBy(redis)) - before.redisUs) / relayed.result.requests),
    'requests/s': rounded(cost.perSecond),
    errors: cost.errors,
    busy: rounded((machine.busy - before.machine.busy) / (machine.all - before.machine.all)),
  }
}

/** Microseconds of CPU that the server has used so far. */
async function usedBy(redis: TestRedis): Promise<number> {
  const info = await redis.command((client) => client.info('cpu'))
  const seconds = [...info.matchAll(/^used_cpu_(?:user|sys):([\d.]+)/gm)].reduce(
    (sum, [, text]) => sum + Number(text),
    0,
  )
  return seconds * 1_000_000
}

/** The median of each figure; of `errors` the maximum. */
function middleOf(costs: readonly Measured[]): Measured {
  const middle = (figure: keyof Measured): number => rounded(median(costs.map((cost) => cost[figure])))
  return {
    [PER_REQUEST]: middle(PER_REQUEST),
    'of it control': middle('of it control'),
    'Redis µs/request': middle('Redis µs/request'),
    'requests/s': middle('requests/s'),
    errors: Math.max(...costs.map(({ errors }) => errors)),
    busy: middle('busy'),
  }
}

process.exitCode = (await main()) ? 0 : 1
