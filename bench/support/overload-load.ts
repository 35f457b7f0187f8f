import { setTimeout as elapsed } from 'node:timers/promises'
import { ClosedLoop } from './closed-loop.ts'
import type { Manners } from './closed-loop.ts'
import { startFixedUpstream } from './fixed-upstream.ts'
import { percentile } from './statistics.ts'

/** A message to the load process. */
export type LoadOrder =
  | {
      readonly type: 'target'
      readonly baseUrl: string
      readonly headers: Record<string, string>
      readonly body: string
    }
  | { readonly type: 'run'; readonly clients: number; readonly seconds: number; readonly manners: Manners }

/** The results of one phase of load, as its clients saw it. */
export interface PhaseResult {
  readonly servedPerSecond: number
  readonly refusedPerSecond: number
  readonly servedP50Ms: number
  readonly servedP99Ms: number
  readonly refusedP99Ms: number
  readonly malformed: number
  readonly failed: number
  /** Seconds from the start of the phase to its last refusal; 0 without one. */
  readonly lastRefusalSeconds: number
}

export type LoadNews =
  { readonly type: 'upstream'; readonly baseUrl: string } | ({ readonly type: 'result' } & PhaseResult)

const LATENCY_MS = 50

/** Load generator and upstream share one process, so that the gateway has the rest of the machine. */
const upstream = await startFixedUpstream(LATENCY_MS)
const loops = new Map<Manners, ClosedLoop>()

process.on('message', (order: LoadOrder) => {
  if (order.type === 'target') {
    for (const manners of ['honour', 'impatient'] as const) loops.set(manners, new ClosedLoop(order, manners))
  } else {
    run(order).then(tell, (cause: unknown) => {
      throw cause
    })
  }
})
process.on('disconnect', () => {
  process.exit()
})
tell({ type: 'upstream', baseUrl: upstream.baseUrl })

async function run({ clients, seconds, manners }: Extract<LoadOrder, { type: 'run' }>): Promise<LoadNews> {
  const loop = loops.get(manners)
  if (loop === undefined) throw new Error('there is no target yet')
  for (const [other, idle] of loops) if (other !== manners) idle.resize(0)
  loop.take()
  const startMs = performance.now()
  loop.resize(clients)
  await elapsed(seconds * 1000)
  const tally = loop.take()
  const tookSeconds = (performance.now() - startMs) / 1000
  return {
    type: 'result',
    servedPerSecond: Math.round(tally.servedMs.length / tookSeconds),
    refusedPerSecond: Math.round(tally.refusedMs.length / tookSeconds),
    servedP50Ms: Math.round(percentileOrZero(tally.servedMs, 0.5)),
    servedP99Ms: Math.round(percentileOrZero(tally.servedMs, 0.99)),
    refusedP99Ms: Math.round(percentileOrZero(tally.refusedMs, 0.99) * 10) / 10,
    malformed: tally.malformed,
    failed: tally.failed,
    lastRefusalSeconds: tally.lastRefusalMs === 0 ? 0 : Math.round((tally.lastRefusalMs - startMs) / 100) / 10,
  }
}

/** 0 without values: a message between processes cannot carry NaN. */
function percentileOrZero(values: readonly number[], share: number): number {
  return values.length === 0 ? 0 : percentile(values, share)
}

function tell(news: LoadNews): void {
  process.send?.(news)
}
