import { drainOnRequest, receiveSetup, reconfigureOnRequest, reportFatal, tellSupervisor } from '../supervisor/child.ts'
import { checkPort } from '../supervisor/listen-port.ts'
import type { ConfigChange, EndReason, FrontSetup } from '../supervisor/messages.ts'
import { buildBase } from './builders/base.ts'
import { buildCaptures } from './builders/captures.ts'
import { CurrentSnapshot } from './builders/current-snapshot.ts'
import { buildJournal } from './builders/journal.ts'
import { buildLimits, buildScheduler } from './builders/limits.ts'
import { buildOverload } from './builders/overload.ts'
import { buildPipeline } from './builders/pipeline.ts'
import { startReports } from './builders/reports.ts'
import { buildServer } from './builders/server.ts'
import { buildUpstreams } from './builders/upstreams.ts'
import { buildVideos } from './builders/videos.ts'
import { Health } from './gateway/health.ts'
import { ModelDirectory } from './gateway/models.ts'
import { loadUws } from './server/uws.ts'

/** How long the records of requests may take that the end of a drain cut off. */
const LAST_RECORDS_MS = 2_000
/** The captures of the last requests may take this long to reach the database. */
const LAST_CAPTURES_MS = 2_000
/** A client that has just connected may be about to send its first request. */
const FIRST_REQUEST_MS = 1_000

/** A front process: owns the sockets of clients and upstreams, and waits for no database. */
async function runFront(setup: FrontSetup): Promise<void> {
  const build = loadUws(process.env['SLUICE_UWS_BUILD'] || undefined)
  const front = buildFront(setup, build)
  const { base, snapshot, server } = front
  const first = snapshot.first()
  base.link.start({
    onSnapshot: (next) => {
      snapshot.apply(next)
    },
    onHealth: (health) => {
      front.health.update(health)
    },
    onKeyHealthEvent: (event) => {
      front.scheduler.hear(event)
    },
    leases: front.limits.leases,
    jobs: front.videos.book,
    captures: front.captures.queue,
  })
  if (setup.isRestart) void snapshot.fallBack(setup.socketPath)
  await first
  base.logger.debug({ sinceStartMs: Math.round(performance.now()) }, 'the configuration has come')
  const { host } = base.config.server
  await server.listen(host, setup.port).catch(async (cause: unknown) => {
    // The server library does not say why.
    await checkPort(host, setup.port)
    throw cause
  })
  tellSupervisor({ type: 'ready', httpServer: `uWebSockets.js ${build.version}` })
  const stopReports = startReports(base, {
    ...front,
    ...front.limits,
    ...front.overload,
    journal: front.journal.journal,
    captures: front.captures.queue,
  })
  const prepare = async ({ config: { server: next }, isNewCertificate }: ConfigChange): Promise<void> => {
    if (isNewCertificate && next.tls !== null) await server.prepareCertificate(next.tls)
  }
  reconfigureOnRequest({
    prepare,
    apply: async (change) => {
      // This process may have begun after the others prepared.
      if (!server.hasPrepared) await prepare(change)
      front.pipeline.useFallbacks(change.config.fallbacks)
      await server.useCertificate()
    },
    discard: () => {
      server.discardCertificate()
    },
  })
  const announceEnd = (): void => {
    front.health.drain()
    front.base.link.tunnel.endStreams()
    server.closeConnectionsAfterAnswer()
  }
  drainOnRequest(async (reason) => {
    announceEnd()
    await finishRequests(front, reason)
    stopReports()
    await close(front)
  }, announceEnd)
}

type Front = ReturnType<typeof buildFront>

/** Builds all parts; none of them has begun to serve. */
function buildFront(setup: FrontSetup, build: ReturnType<typeof loadUws>) {
  const base = buildBase(setup)
  const { config, clock } = base
  const journal = buildJournal(base, setup.index)
  const upstreams = buildUpstreams(base)
  const limits = buildLimits(base, journal.writer)
  const scheduler = buildScheduler(base, limits.leases)
  const videos = buildVideos(base, upstreams)
  const overload = buildOverload(base, journal)
  const captures = buildCaptures(base)
  const models = new ModelDirectory(clock, config.server.vendor)
  const isReady = (): boolean => snapshot.isThere
  const needs = { journal, limits, upstreams, scheduler, videos, captures, overload: overload.overload, isReady }
  const pipeline = buildPipeline(base, needs)
  const { prices } = pipeline
  const users = [base.requestMetrics, limits.authenticator, limits.admissions, prices, scheduler, models, videos.reader]
  const snapshot = new CurrentSnapshot(base, users)
  const health = new Health({
    clock,
    scheduler,
    overload: overload.overload,
    isReady,
    isWritable: () => journal.journal.writable,
  })
  const { maxConnections } = upstreams
  const { phases } = pipeline
  const server = buildServer(base, {
    build,
    phases,
    models,
    videos,
    health,
    overload: overload.overload,
    captures: captures.captures,
    maxConnections,
  })
  const steps = { journal, upstreams, limits, scheduler, videos, overload, captures, pipeline }
  return { base, ...steps, snapshot, health, server }
}

/** Takes no more connections, and waits for the answers under way, up to the time of a drain. */
async function finishRequests({ base, server }: Front, reason: EndReason): Promise<void> {
  await server.stopListening()
  // Where another gateway goes on, nobody waits for this process to end: idle connections close in their own time.
  const isQuiet = (): boolean =>
    server.connections === 0 || (reason !== 'hand-over' && server.sinceLastConnectionMs >= FIRST_REQUEST_MS)
  await until(
    () => server.openExchanges === 0 && server.openHandlers === 0 && base.link.aiRequests.open === 0 && isQuiet(),
    base.config.server.drainTimeoutMs,
  )
}

async function close(front: Front): Promise<void> {
  const { base, journal, upstreams, limits, videos, overload, captures, pipeline, server } = front
  overload.resources.stop()
  videos.watch.stop()
  limits.leases.farewell()
  await captures.queue.drained(LAST_CAPTURES_MS)
  await base.link.stop()
  server.close()
  await upstreams.client.close()
  // Requests that this cut off have their records to write.
  await until(() => server.openHandlers === 0, LAST_RECORDS_MS)
  journal.journal.close()
  base.deadlines.stop()
  await pipeline.pool.close()
  base.logger.flush()
}

/** Resolves when `condition` holds, or after `timeoutMs`. */
function until(condition: () => boolean, timeoutMs: number): Promise<void> {
  const endMs = Date.now() + timeoutMs
  return new Promise((resolve) => {
    const check = (): void => {
      if (condition() || Date.now() >= endMs) resolve()
      else setTimeout(check, 10)
    }
    check()
  })
}

receiveSetup(runFront, reportFatal)
