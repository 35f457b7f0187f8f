import { join } from 'node:path'
import { Accountant } from './accounting/account.ts'
import { Journal, MAX_HELD_BYTES } from '../journal/journal.ts'
import { Authenticator } from './auth/authenticator.ts'
import { Newcomers } from './auth/newcomers.ts'
import { ConfigError } from '../shared/config/config-error.ts'
import { loadSecrets } from '../shared/config/secrets.ts'
import { systemClock } from '../shared/runtime/clock.ts'
import { DeadlineClock } from '../shared/runtime/deadlines.ts'
import { descriptorLimit, maxConnections } from '../shared/runtime/descriptors.ts'
import { PriceBook } from '../shared/core/price-book.ts'
import { repeat } from '../shared/runtime/repeat.ts'
import type { Snapshot } from '../shared/core/snapshot.ts'
import { UpstreamReach } from '../shared/core/upstream-reach.ts'
import { dialectOf } from '../dialects/codecs.ts'
import { frontSamples } from './gateway/front-samples.ts'
import { Health } from './gateway/health.ts'
import { ModelDirectory } from './gateway/models.ts'
import { createPhases } from './gateway/phases.ts'
import { TokenCounts } from './gateway/token-counts.ts'
import { RequestMetrics } from './gateway/request-metrics.ts'
import { Translator } from './gateway/translator.ts'
import { createRoutes, createUnknownPathRefusal } from './gateway/routes.ts'
import { ServiceTranslator } from './gateway/service-translator.ts'
import { Shedding } from './gateway/shedding.ts'
import { publicBaseUrl } from './videos/base-url.ts'
import { LocalJobBook } from './videos/job-book.ts'
import { JobReader } from './videos/job-reader.ts'
import { JobSeal } from './videos/job-seal.ts'
import { JobWatch } from './videos/job-watch.ts'
import { SharedJobBook } from './videos/shared-job-book.ts'
import { VideoContent } from './videos/video-content.ts'
import { Videos } from './videos/videos.ts'
import { AddressFailures } from './limits/address-failures.ts'
import { Admissions } from './limits/admissions.ts'
import { degradedModes } from './limits/degraded-modes.ts'
import { LeaseBook } from './limits/lease-book.ts'
import { LeasedSlots } from './limits/leased-slots.ts'
import { FrontLink } from '../shared/link/front-link.ts'
import { SnapshotFile } from '../shared/link/snapshot-file.ts'
import { LadderLog } from './overload/ladder-log.ts'
import { LoopSampler } from './overload/loop-sampler.ts'
import { Overload } from './overload/overload.ts'
import { freeDiskBytes, Resources } from './overload/resources.ts'
import { RetryBudget } from './scheduling/retry-budget.ts'
import { Scheduler } from './scheduling/scheduler.ts'
import { describeKeyHealthEvent } from './scheduling/words.ts'
import { createClientAddresses } from './server/client-address.ts'
import { createHttpServer } from './server/http-server.ts'
import { loadUws } from './server/uws.ts'
import { processIdentity } from '../shared/runtime/data-directory.ts'
import { drainOnRequest, receiveSetup, reportFatal, tellSupervisor } from '../supervisor/child.ts'
import { checkPort } from '../supervisor/listen-port.ts'
import type { FrontSetup } from '../supervisor/messages.ts'
import { createLogger } from '../shared/telemetry/logger.ts'
import type { Sample } from '../shared/telemetry/metrics.ts'
import { GoogleTokens } from './upstream/google-tokens.ts'
import { Http1Client } from './upstream/http1/http1-client.ts'
import { Metrics } from '../shared/telemetry/metrics.ts'
import { ProcessSamples } from '../shared/telemetry/process-samples.ts'
import { createValidator } from './validation/validate.ts'
import { WorkerPool } from './workers/pool.ts'

/** How long requests that were cut by the end of a drain may take to be recorded. */
const LAST_RECORDS_MS = 2_000
/** A client that has just been let in may be about to send its first request. */
const FIRST_REQUEST_MS = 1_000
const REPORT_EVERY_MS = 1_000

/** So many clients at a time are worth a warning. */
const FEW_CONNECTIONS = 1_000

/** A front that starts anew waits this long for the control process before it goes by the last snapshot there was. */
const SNAPSHOT_PATIENCE_MS = 500

/** How long the control process may take over a job; then the front goes by what it knows itself. */
const JOB_PATIENCE_MS = 10_000

/** How often fronts tell what they used of their leases. */
const LEASE_REPORT_MS = 50

/** Redis gives leases away 30 s after it has heard of them last; a control process that dies was heard some seconds before. */
const LEASE_KEEP_MS = 20_000

/** A front process: owns client and upstream sockets, and nothing else that waits. */
async function runFront(setup: FrontSetup): Promise<void> {
  const { config, index } = setup
  const build = loadUws(process.env['SLUICE_UWS_BUILD'] || undefined)
  const name = `front-${index}`
  const logger = createLogger({ level: config.log.level, file: config.log.file, name })
  const onTimerFault = (cause: unknown): void => {
    logger.error({ err: cause }, 'a timer failed')
  }
  const metrics = new Metrics()
  const requestMetrics = new RequestMetrics(metrics)
  const journalSync = metrics.histogram('journalSync').at()
  const processSamples = new ProcessSamples(name, onTimerFault)
  const secrets = loadSecrets(config.dataDir, process.env)
  if (secrets === null) throw new ConfigError('is missing', { file: join(config.dataDir, 'secrets.json') })
  const clock = systemClock
  const deadlines = new DeadlineClock(clock)
  deadlines.start(onTimerFault)

  const journalDirectory = join(config.dataDir, 'journal')
  const writer = `front${index}-${Date.now().toString(36)}-${process.pid}`
  const journal = new Journal({
    directory: journalDirectory,
    header: {
      writer,
      ...processIdentity(),
      createdAtMs: clock.now(),
    },
    segmentMaxBytes: config.journal.segmentMaxBytes,
    segmentMaxAgeMs: config.journal.segmentMaxAgeMs,
    durability: config.journal.durability,
    reserve: { path: join(journalDirectory, `${name}.reserve`), bytes: config.journal.reserveBytes },
    clock,
    onFault: (cause) => {
      logger.error({ err: cause }, 'the journal cannot be written; requests are refused until it can')
    },
    onRecovered: () => {
      logger.warn({}, 'the journal can be written again')
    },
    onSync: (durationUs) => {
      journalSync.observe(durationUs)
    },
  })
  const bodyLimits = { maxDepth: config.limits.maxJsonDepth, maxElements: config.limits.maxJsonElements }
  const pool = new WorkerPool({ threads: config.workers.threads, maxQueue: config.workers.maxQueue, bodyLimits })
  const validator = createValidator(bodyLimits)
  const limit = descriptorLimit()
  const most = maxConnections(limit, config.workers.threads)
  if (most < FEW_CONNECTIONS) {
    logger.warn(
      { openFiles: limit, connections: most },
      'few files may be open; raise the limit (ulimit -n) to take more connections',
    )
  }
  const reach = new UpstreamReach(config.management.privateUpstreams)
  const upstream = new Http1Client({ deadlines, reach, maxConnections: most })
  const authenticator = new Authenticator(secrets.keyHash, {
    key: config.limits.keyDefaults,
    user: config.limits.userDefaults,
    enterprise: config.limits.enterpriseDefaults,
  })
  const prices = new PriceBook()
  const leases: LeaseBook = new LeaseBook({
    clock,
    processes: config.server.fronts,
    writer,
    leaseKeepMs: config.redis.address === null ? null : LEASE_KEEP_MS,
    degradedModeOf: degradedModes(config.redis.degraded),
    send: (message) => link.sendLease(message),
    soon: setImmediate,
  })
  const schedulerLog = logger.child('scheduler')
  const scheduler = new Scheduler({
    supply: new LeasedSlots(leases),
    random: Math.random,
    clock,
    deadlines,
    maxWaiting: config.upstream.queueMax,
    announce: (news) => {
      const severity = news.kind === 'disabled' ? 'error' : 'warn'
      schedulerLog[severity]({ ...news }, describeKeyHealthEvent(news, clock.now()))
      link.announce(news)
    },
  })
  const models = new ModelDirectory(clock, config.server.vendor)
  let snapshot: Snapshot | null = null
  let snapshotAtMs = 0
  let onFirstSnapshot: (() => void) | null = null
  const isReady = (): boolean => snapshot !== null
  const cacheShare = { promptTokens: 0, cachedTokens: 0 }
  const { inlineMaxBytes } = config.workers

  const jobSeal = new JobSeal(secrets.keyHash)
  const tokens = new GoogleTokens(upstream, clock)
  const jobReader = new JobReader(upstream, tokens, reach)
  const jobWatch = new JobWatch({
    reader: jobReader,
    deadlines,
    random: Math.random,
    firstMs: config.video.pollFirstMs,
    maxMs: config.video.pollMaxMs,
    giveUpMs: config.video.giveUpMs,
    onOver: (job, { error }) => {
      link.sendJob({ type: 'job-over', job, errorCode: error?.code ?? null })
    },
  })
  const jobBook = new SharedJobBook({
    local: new LocalJobBook(() => clock.now()),
    deadlines,
    send: (message) => link.sendJob(message),
    patienceMs: JOB_PATIENCE_MS,
  })
  const videos = new Videos({
    clock,
    deadlines,
    seal: jobSeal,
    reader: jobReader,
    watch: jobWatch,
    book: jobBook,
    options: config.video,
    baseUrlOf: ({ exchange }) =>
      publicBaseUrl(config.server.baseUrl, config.server.tls === null ? 'http' : 'https', exchange.request),
    renderError: (error, requestId) => dialectOf('openai-videos').renderError(error, requestId),
  })

  const resources = new Resources({
    maxMemoryBytes: config.overload.maxMemoryBytes,
    processes: config.server.fronts,
    freeDiskBytes: () => freeDiskBytes(journalDirectory),
    minFreeDiskBytes: config.overload.minFreeDiskBytes,
    heldBytes: () => journal.heldBytes,
    maxHeldBytes: MAX_HELD_BYTES,
    onFault: onTimerFault,
  })
  const ladderLog = new LadderLog((severity, message, level) => {
    logger[severity]({ overloadLevel: level }, message)
  })
  const overload = new Overload({
    loopDelayTargetMs: config.overload.loopDelayMs,
    minConcurrency: config.overload.minConcurrency,
    maxInFlight: config.limits.maxRequestsInFlight,
    resources: () => resources.read(),
    onInterval: (pressure, limit) => {
      ladderLog.note(pressure, limit, clock.monotonicUs() / 1000)
    },
  })
  const health = new Health({ clock, scheduler, overload, isReady, isWritable: () => journal.writable })
  const translator = new Translator(pool, inlineMaxBytes)
  const services = new ServiceTranslator(pool, inlineMaxBytes)
  const phases = createPhases({
    clock,
    deadlines,
    authenticator,
    newcomers: new Newcomers({ authenticator, clock, isSnapshotCurrent: () => link.inquiries.isCurrent() }),
    limits: new Admissions(leases),
    addressFailures: new AddressFailures(config.limits.addressFailuresPerMinute, config.server.fronts),
    scheduler,
    journal,
    prices,
    accountant: new Accountant(journal, clock, prices, (usage) => {
      cacheShare.promptTokens += usage.promptTokens
      cacheShare.cachedTokens += usage.cachedTokens
    }),
    upstream,
    dialectOf,
    checkBody: (endpoint, bytes) =>
      bytes.length > inlineMaxBytes ? pool.checkBody(endpoint, bytes) : validator.validate(endpoint, bytes),
    translator,
    tokens,
    services,
    readAnswer: ({ dialect, body: request, translation, reading }, body) => {
      if (translation !== null) return translator.answer(translation, body)
      if (reading !== null) return services.answer(reading, body)
      return body.length > inlineMaxBytes
        ? pool.readAnswer(dialect.name, request, body)
        : dialect.readAnswer(body, request)
    },
    isReady,
    vendor: config.server.vendor,
    retryBudget: new RetryBudget(config.upstream.retryBudget),
    maxAttempts: config.upstream.maxAttempts,
    maxQueueWaitMs: config.upstream.queueWaitMs,
    mayQueue: () => overload.mayQueue,
    fallbacks: new Map(Object.entries(config.fallbacks)),
    maxAnswerBytes: config.limits.maxAnswerBytes,
    defaultOutputTokens: config.limits.defaultOutputTokens,
    videos,
    tokenCounts: new TokenCounts({
      pool,
      clock,
      routes: scheduler,
      onFault: (cause) => {
        logger.warn({ err: cause }, 'tokens were estimated, not counted')
      },
    }),
    metrics: requestMetrics,
    logger: logger.child('gateway'),
  })

  const applySnapshot = (next: Snapshot): void => {
    // A control process that was started anew may know less than the one before, but never an older state.
    snapshot = next
    snapshotAtMs = clock.now()
    requestMetrics.update(next)
    authenticator.update(next)
    prices.update(next)
    scheduler.update(next)
    models.update(next)
    jobReader.update(next)
    if (next.version > 0) onFirstSnapshot?.()
  }
  const link: FrontLink = new FrontLink({
    socketPath: setup.socketPath,
    front: name,
    deadlines,
    onSnapshot: applySnapshot,
    onHealth: (news) => {
      health.update(news)
    },
    onKeyHealthEvent: (news) => {
      scheduler.hear(news)
    },
    leases,
    jobs: jobBook,
  })
  const routes = createRoutes({
    phases,
    models,
    videos,
    videoContent: new VideoContent({ clock, seal: jobSeal, reader: jobReader, maxStreams: config.video.maxJobs }),
    health,
    shedding: new Shedding({ overload, clock, metrics: requestMetrics, dialectOf }),
    clock,
    metrics: requestMetrics,
    traces: config.telemetry.traceContext,
    vendor: config.server.vendor,
    dialectOf,
    forward: (exchange, requestId, refuse) => link.tunnel.forward(exchange, requestId, refuse),
  })
  const refusalParts = { clock, dialectOf, metrics: requestMetrics, vendor: config.server.vendor }
  const server = createHttpServer({
    build,
    routes,
    refuse: createUnknownPathRefusal(refusalParts, routes),
    deadlines,
    addresses: createClientAddresses(config.server.trustedProxies),
    maxBodyBytes: config.limits.maxBodyBytes,
    maxConnections: most,
    bodyTimeoutMs: config.server.bodyTimeoutMs,
    corsOrigins: config.server.corsOrigins,
    tls: config.server.tls,
    onFault: (cause) => {
      logger.error({ err: cause }, 'a handler failed')
    },
  })
  const applyKeptSnapshot = async (): Promise<void> => {
    await elapsed(SNAPSHOT_PATIENCE_MS)
    const kept = snapshot === null ? await new SnapshotFile(setup.socketPath, secrets.keyHash).last() : null
    if (kept === null || snapshot !== null) return
    logger.warn(
      { snapshotVersion: kept.version },
      'the control process is away; the front starts with the last configuration',
    )
    applySnapshot(kept)
  }
  // Before it knows the keys it could only refuse what the other fronts can serve: they share the port.
  await new Promise<void>((resolve) => {
    onFirstSnapshot = resolve
    link.start()
    if (setup.isRestart) void applyKeptSnapshot()
  })
  logger.debug({ sinceStartMs: Math.round(performance.now()) }, 'the configuration has come')
  await server.listen(config.server.host, setup.port).catch(async (cause: unknown) => {
    // The server library does not say why.
    await checkPort(config.server.host, setup.port)
    throw cause
  })
  tellSupervisor({ type: 'ready', httpServer: `uWebSockets.js ${build.version}` })
  const reportLeases = (): void => {
    leases.tick()
  }
  const leaseReport = repeat(LEASE_REPORT_MS, reportLeases, onTimerFault)
  const stateSamples = (): Sample[] =>
    frontSamples(name, {
      overload,
      openExchanges: server.openExchanges,
      connections: server.connections,
      poolTasks: pool.tasks,
      tunnelled: link.tunnel.inFlight,
      journal,
      scheduler: scheduler.stats(clock.now()),
      snapshotVersion: snapshot?.version ?? 0,
      snapshotAgeSeconds: (clock.now() - snapshotAtMs) / 1000,
    })
  const sampleLoop = (lateMs: number): void => {
    overload.sample(lateMs)
  }
  const loopSampler = new LoopSampler(clock, Overload.SAMPLE_MS, sampleLoop, onTimerFault)
  const reportState = (): void => {
    // Kept while there is nobody to tell.
    if (!link.connected) return
    link.reportMetrics(metrics.drain([...processSamples.take(), ...stateSamples()]))
    link.reportUsage({ ...cacheShare })
    cacheShare.promptTokens = 0
    cacheShare.cachedTokens = 0
  }
  const report = repeat(REPORT_EVERY_MS, reportState, onTimerFault)

  const announceEnd = (): void => {
    health.drain()
    server.closeConnectionsAfterAnswer()
  }
  drainOnRequest(async (reason) => {
    announceEnd()
    await server.stopListening()
    // Nobody waits for this process to end where another gateway goes on: connections that rest are closed in their own time.
    const isQuiet = (): boolean =>
      server.connections === 0 || (reason !== 'hand-over' && server.sinceLastConnectionMs >= FIRST_REQUEST_MS)
    await until(
      () => server.openExchanges === 0 && server.openHandlers === 0 && isQuiet(),
      config.server.drainTimeoutMs,
    )
    clearInterval(leaseReport)
    clearInterval(report)
    processSamples.stop()
    loopSampler.stop()
    resources.stop()
    jobWatch.stop()
    leases.farewell()
    await link.stop()
    server.close()
    await upstream.close()
    // What was cut has its record to write.
    await until(() => server.openHandlers === 0, LAST_RECORDS_MS)
    journal.close()
    deadlines.stop()
    await pool.close()
    logger.flush()
  }, announceEnd)
}

function elapsed(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

/** Resolves when `condition` holds, or when it has not for `timeoutMs`. */
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
