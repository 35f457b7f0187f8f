import type { CaptureQueue } from '../capture/capture-queue.ts'
import type { Journal } from '../../journal/journal.ts'
import { repeat } from '../../shared/runtime/repeat.ts'
import { ProcessSamples } from '../../shared/telemetry/process-samples.ts'
import { frontSamples } from '../gateway/front-samples.ts'
import type { LeaseBook } from '../limits/lease-book.ts'
import { LoopSampler } from '../overload/loop-sampler.ts'
import { Overload } from '../overload/overload.ts'
import type { Scheduler } from '../scheduling/scheduler.ts'
import type { HttpServer } from '../server/http-server.ts'
import type { FrontBase } from './base.ts'
import type { CurrentSnapshot } from './current-snapshot.ts'
import type { FrontPipeline } from './pipeline.ts'

const REPORT_EVERY_MS = 1_000
/** How often the front reports its use of leases. */
const LEASE_REPORT_MS = 50

export interface ReportNeeds {
  readonly server: HttpServer
  readonly pipeline: FrontPipeline
  readonly journal: Journal
  readonly captures: CaptureQueue
  readonly scheduler: Scheduler
  readonly leases: LeaseBook
  readonly overload: Overload
  readonly snapshot: CurrentSnapshot
}

/** Begins what a front does by the clock: use of leases, metrics, samples of the event loop. Returns what ends all of it. */
export function startReports(base: FrontBase, needs: ReportNeeds): () => void {
  const { name, clock, metrics, link, onTimerFault } = base
  const { server, pipeline, journal, captures, scheduler, leases, overload, snapshot } = needs
  const processSamples = new ProcessSamples(name, onTimerFault)
  const reportLeases = (): void => {
    leases.tick()
  }
  const sampleLoop = (lateMs: number): void => {
    overload.sample(lateMs)
  }
  const reportState = (): void => {
    // Kept until the control process is there.
    if (!link.connected) return
    const state = frontSamples(name, {
      overload,
      openExchanges: server.openExchanges,
      connections: server.connections,
      poolTasks: pipeline.pool.tasks,
      tunnelled: link.tunnel.inFlight,
      journal,
      captureBytes: captures.bytes,
      scheduler: scheduler.stats(clock.now()),
      snapshotVersion: snapshot.version,
      snapshotAgeSeconds: snapshot.ageSeconds,
    })
    link.reportMetrics(metrics.drain([...processSamples.take(), ...state]))
    link.reportUsage(pipeline.takeCacheShare())
  }
  // Metrics are complete as soon as the gateway is ready.
  reportState()
  const timers = [
    repeat(LEASE_REPORT_MS, reportLeases, onTimerFault),
    repeat(REPORT_EVERY_MS, reportState, onTimerFault),
  ]
  const loopSampler = new LoopSampler(clock, Overload.SAMPLE_MS, sampleLoop, onTimerFault)
  return () => {
    for (const timer of timers) clearInterval(timer)
    processSamples.stop()
    loopSampler.stop()
  }
}
