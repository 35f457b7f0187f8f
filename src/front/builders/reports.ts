import type { CaptureQueue } from '../capture/capture-queue.ts'
import type { Journal } from '../../journal/journal.ts'
import { LoopSampler } from '../../shared/runtime/loop-sampler.ts'
import { PacedTimer } from '../../shared/runtime/paced-timer.ts'
import { repeat } from '../../shared/runtime/repeat.ts'
import { RestCollector } from '../../shared/runtime/rest-collector.ts'
import { ProcessSamples } from '../../shared/telemetry/process-samples.ts'
import { frontSamples } from '../gateway/front-samples.ts'
import { LeaseBook } from '../limits/lease-book.ts'
import { Overload } from '../overload/overload.ts'
import type { Scheduler } from '../scheduling/scheduler.ts'
import type { HttpServer } from '../server/http-server.ts'
import type { FrontBase } from './base.ts'
import type { CurrentSnapshot } from './current-snapshot.ts'
import type { FrontPipeline } from './pipeline.ts'

const REPORT_EVERY_MS = 1_000
const COLLECT_EVERY_MS = 5_000

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

/**
 * Begins what a front does by the clock: use of leases, metrics, samples of the event loop, garbage of a load that is over. Returns what
 * ends all of it.
 */
export function startReports(base: FrontBase, needs: ReportNeeds): () => void {
  const { name, clock, metrics, link, onTimerFault } = base
  const { server, pipeline, journal, captures, scheduler, leases, overload, snapshot } = needs
  const processSamples = new ProcessSamples(name, onTimerFault)
  const reportLeases = (): number => {
    leases.tick()
    return leases.isAtRest ? LeaseBook.REST_MS : LeaseBook.TICK_MS
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
  const stateTimer = repeat(REPORT_EVERY_MS, reportState, onTimerFault)
  const leaseTimer = new PacedTimer(LeaseBook.TICK_MS, reportLeases, onTimerFault)
  leases.onBusy(() => {
    leaseTimer.within(LeaseBook.TICK_MS)
  })
  const loopSampler = new LoopSampler({
    clock,
    everyMs: Overload.SAMPLE_MS,
    restMs: Overload.REST_MS,
    isAtRest: () => overload.isAtRest,
    onSample: (lateMs) => {
      overload.sample(lateMs)
      processSamples.noteLoopDelay(lateMs)
    },
    onFault: onTimerFault,
  })
  overload.onBusy(() => {
    loopSampler.wake()
  })
  const collector = new RestCollector()
  const checkGarbage = (): void => {
    collector.check()
  }
  const collectTimer = repeat(COLLECT_EVERY_MS, checkGarbage, onTimerFault)
  return () => {
    clearInterval(stateTimer)
    clearInterval(collectTimer)
    leaseTimer.stop()
    processSamples.stop()
    loopSampler.stop()
  }
}
