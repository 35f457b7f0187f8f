import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { cpus } from 'node:os'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { Manners } from '../support/closed-loop.ts'
import type { LoadNews, LoadOrder, PhaseResult } from '../support/overload-load.ts'
import { besideOthers, cpuUsOfTree, cpuUsSince } from '../../src/cli/bench/process-use.ts'
import type { Program } from '../../src/cli/bench/programs.ts'
import { startGateway } from '../support/programs.ts'

const { values } = parseArgs({
  options: {
    /** Seconds of each overload. */
    seconds: { type: 'string', default: '12' },
    /** Number of clients at saturation, when it is known; skips the search. */
    saturation: { type: 'string' },
  },
})

/** The promised bounds (P1). */
const MIN_GOODPUT = 0.9
const MAX_P99_RATIO = 2
const MAX_REFUSAL_MS = 50
const MAX_RECOVERY_SECONDS = 5

const STEPS = [32, 64, 128, 192, 256, 384, 512, 768, 1024, 1536]
const STEP_SECONDS = 4
/** Clients open their connections in the first of these seconds. */
const ARRIVAL_SECONDS = 2
const WARM_UP_SECONDS = 10
/** Saturation is the fewest clients with this share of the peak throughput. */
const SATURATED = 0.95
const FACTORS = [2, 5, 10]
/** A figure is valid when other programs take at most this share of the machine. It is measured up to `TRIES` times. */
const MAX_ELSEWHERE = 0.1
const TRIES = 3
const BODY = JSON.stringify({
  model: 'sim-gpt',
  messages: [{ role: 'user', content: 'The quick brown fox jumps over the lazy dog. '.repeat(10) }],
})

/** The process of load generator and upstream. */
class LoadProcess {
  readonly #child: ChildProcess

  constructor() {
    const extension = extname(import.meta.url)
    this.#child = fork(fileURLToPath(new URL(`../support/overload-load${extension}`, import.meta.url)))
  }

  async upstream(): Promise<string> {
    const news = await this.#next()
    if (news.type !== 'upstream') throw new Error('the load process sent another message before its upstream was ready')
    return news.baseUrl
  }

  aim(baseUrl: string, headers: Readonly<Record<string, string>>): void {
    this.#order({ type: 'target', baseUrl, headers: { ...headers }, body: BODY })
  }

  async run(clients: number, seconds: number, manners: Manners = 'honour'): Promise<PhaseResult> {
    this.#order({ type: 'run', clients, seconds, manners })
    const news = await this.#next()
    if (news.type !== 'result') throw new Error('the load process sent no result')
    const { type, ...result } = news
    return result
  }

  end(): void {
    this.#child.disconnect()
  }

  async #next(): Promise<LoadNews> {
    const [news] = (await once(this.#child, 'message')) as [LoadNews]
    return news
  }

  #order(order: LoadOrder): void {
    this.#child.send(order)
  }
}

/** A phase of load with its cost. */
interface Measured extends PhaseResult {
  /** µs of CPU of all processes of the gateway, per served request. */
  readonly cpuUs: number
  /** Share of the machine that other programs took. */
  readonly elsewhere: number
}

interface Saturation extends Measured {
  readonly clients: number
}

/** Runs a phase, again while other programs keep the machine busy, and returns the result with the least disturbance. */
async function measure(
  load: LoadProcess,
  gateway: Program,
  phase: { readonly clients: number; readonly seconds: number; readonly manners?: Manners },
): Promise<Measured> {
  let best: Measured | null = null
  for (let attempt = 0; attempt < TRIES && (best?.elsewhere ?? 1) > MAX_ELSEWHERE; attempt++) {
    const before = cpuUsOfTree(gateway.pid)
    // The gateway and the load are both below this process.
    const { result, elsewhere } = await besideOthers(() => load.run(phase.clients, phase.seconds, phase.manners))
    const gatewayUs = total(cpuUsSince(gateway.pid, before))
    const served = Math.max(1, result.servedPerSecond * phase.seconds)
    const measured = { ...result, cpuUs: Math.round(gatewayUs / served), elsewhere: round(elsewhere) }
    if (best === null || measured.elsewhere < best.elsewhere) best = measured
  }
  if (best === null) throw new Error('nothing was measured')
  return best
}

function total(used: ReadonlyMap<string, number>): number {
  return [...used.values()].reduce((sum, us) => sum + us, 0)
}

/** Finds the peak throughput, and the fewest clients that reach nearly that, with their latencies. */
async function findSaturation(load: LoadProcess, gateway: Program): Promise<{ peak: number; saturation: Saturation }> {
  const steps: Saturation[] = []
  for (const clients of STEPS) {
    await load.run(clients, ARRIVAL_SECONDS)
    steps.push({ clients, ...(await measure(load, gateway, { clients, seconds: STEP_SECONDS })) })
    const best = Math.max(...steps.map(({ servedPerSecond }) => servedPerSecond))
    // Two steps without a gain: the peak is found.
    if (steps.slice(-2).every(({ servedPerSecond }) => servedPerSecond < best) || steps.at(-1)?.refusedPerSecond) break
  }
  console.table(steps.map(shown))
  const peak = Math.max(...steps.map(({ servedPerSecond }) => servedPerSecond))
  const saturation = steps.find(({ servedPerSecond }) => servedPerSecond >= peak * SATURATED)
  if (saturation === undefined) throw new Error('nothing was served')
  return { peak, saturation }
}

async function main(): Promise<boolean> {
  console.log(`node ${process.version}, ${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}`)
  const load = new LoadProcess()
  const gateway = await startGateway({ upstreamBaseUrl: await load.upstream() })
  try {
    load.aim(gateway.baseUrl, gateway.headers)
    // A new process serves half as much as a warm one.
    await load.run(values.saturation === undefined ? 64 : Number(values.saturation), WARM_UP_SECONDS)
    const { peak: known, saturation } =
      values.saturation === undefined
        ? await findSaturation(load, gateway)
        : await measureAt(load, gateway, Number(values.saturation))
    console.log(
      `saturation: ${saturation.clients} clients, p99 ${saturation.servedP99Ms} ms; peak ${known} requests/s\n`,
    )
    let peak = known
    const rows: Array<Record<string, unknown>> = []
    const broken: string[] = []
    for (const manners of ['honour', 'impatient'] as const) {
      for (const factor of FACTORS) {
        const clients = saturation.clients * factor
        // Clients are measured after they have connected: opening thousands of connections in a second is not the subject.
        const coming = await load.run(clients, ARRIVAL_SECONDS, manners)
        const during = await measure(load, gateway, { clients, seconds: Number(values.seconds), manners })
        const after = await load.run(Math.ceil(saturation.clients / 2), MAX_RECOVERY_SECONDS + 2, manners)
        const name = `${factor} × clients, ${manners === 'honour' ? 'Retry-After honoured' : 'again after 100 ms'}`
        peak = Math.max(peak, during.servedPerSecond)
        const goodput = during.servedPerSecond / peak
        const p99Ratio = during.servedP99Ms / saturation.servedP99Ms
        rows.push({
          name,
          ...shown(during),
          'p99 ms coming': coming.servedP99Ms,
          'refusal p99 ms coming': coming.refusedP99Ms,
          goodput: round(goodput),
          p99Ratio: round(p99Ratio),
          recovery: after.lastRefusalSeconds,
        })
        // The promise holds for clients that honour `Retry-After`.
        const problems = problemsOf(during, goodput, p99Ratio, after)
        if (manners === 'honour') broken.push(...problems.map((problem) => `${name}: ${problem}`))
      }
    }
    console.table(rows)
    for (const problem of broken) console.log(`NOT HELD: ${problem}`)
    if (broken.length === 0)
      console.log('held: goodput, admitted p99, refusals and recovery at 2, 5 and 10 × saturation')
    return broken.length === 0
  } finally {
    load.end()
    await gateway.stop()
  }
}

async function measureAt(
  load: LoadProcess,
  gateway: Program,
  clients: number,
): Promise<{ peak: number; saturation: Saturation }> {
  await load.run(clients, ARRIVAL_SECONDS)
  const result = await measure(load, gateway, { clients, seconds: STEP_SECONDS * 2 })
  return { peak: result.servedPerSecond, saturation: { clients, ...result } }
}

function problemsOf(during: Measured, goodput: number, p99Ratio: number, after: PhaseResult): string[] {
  const problems: string[] = []
  if (during.elsewhere > MAX_ELSEWHERE) {
    problems.push(`not measured: other programs took ${Math.round(during.elsewhere * 100)} % of the machine`)
  }
  if (goodput < MIN_GOODPUT) problems.push(`goodput ${round(goodput)} of the peak`)
  if (p99Ratio > MAX_P99_RATIO) problems.push(`admitted p99 ${round(p99Ratio)} × that at saturation`)
  if (during.refusedP99Ms > MAX_REFUSAL_MS) problems.push(`refusals p99 ${during.refusedP99Ms} ms`)
  if (during.malformed > 0) problems.push(`${during.malformed} refusals without Retry-After, or malformed`)
  if (during.failed > 0) problems.push(`${during.failed} requests failed in other ways`)
  if (after.lastRefusalSeconds > MAX_RECOVERY_SECONDS)
    problems.push(`still refuses ${after.lastRefusalSeconds} s after the end of the load`)
  return problems
}

function shown({ servedPerSecond, refusedPerSecond, servedP50Ms, servedP99Ms, refusedP99Ms, ...rest }: Measured) {
  const clients = 'clients' in rest ? { clients: rest.clients } : {}
  return {
    ...clients,
    'served/s': servedPerSecond,
    'refused/s': refusedPerSecond,
    'p50 ms': servedP50Ms,
    'p99 ms': servedP99Ms,
    'refusal p99 ms': refusedP99Ms,
    failed: rest.failed + rest.malformed,
    'CPU µs': rest.cpuUs,
    elsewhere: rest.elsewhere,
  }
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}

process.exitCode = (await main()) ? 0 : 1
