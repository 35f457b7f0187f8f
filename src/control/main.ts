import { mkdir } from 'node:fs/promises'
import { setPriority } from 'node:os'
import { join } from 'node:path'
import { setTimeout as elapsed } from 'node:timers/promises'
import { ConfigError } from '../shared/config/config-error.ts'
import { ownVersion } from '../shared/config/own-version.ts'
import type { Config } from '../shared/config/shape.ts'
import type { LeaseReply } from '../shared/core/allowance.ts'
import { UpstreamBook } from '../shared/config/upstream-book.ts'
import { simulatorUpstreams } from '../shared/config/upstreams.ts'
import { controlSamples } from './lifecycle/control-samples.ts'
import { declaredEntryKey } from './lifecycle/declared-keys.ts'
import { firstAdminPhone, firstRun } from './lifecycle/first-run.ts'
import { JobClaims } from './fronts/job-claims.ts'
import { JournalWatch } from './lifecycle/journal-watch.ts'
import { KeyHealthBoard } from './fronts/key-health-board.ts'
import { ManagementListener } from './lifecycle/management-listener.ts'
import { MetricsListener } from './lifecycle/metrics-listener.ts'
import { RelayStatistics } from './fronts/relay-statistics.ts'
import { SnapshotGate } from './fronts/snapshot-gate.ts'
import { SnapshotPublisher } from './fronts/snapshot-publisher.ts'
import { takeControlLock } from './lifecycle/control-lock.ts'
import { StoreMonitor } from './lifecycle/store-monitor.ts'
import { systemClock } from '../shared/runtime/clock.ts'
import { PriceBook } from '../shared/core/price-book.ts'
import { repeat } from '../shared/runtime/repeat.ts'
import { Seal } from '../shared/runtime/seal.ts'
import { UpstreamReach } from '../shared/core/upstream-reach.ts'
import { UpstreamProbes } from '../front/gateway/upstream-probes.ts'
import type { Authority } from './leases/authority.ts'
import { readDepartedUse, writeDepartedUse } from './leases/departed-use.ts'
import { InProcessAuthority } from './leases/in-process-authority.ts'
import type { StoreHealth } from '../shared/core/health.ts'
import { ControlLink } from '../shared/link/control-link.ts'
import { MAX_MANAGEMENT_BODY_BYTES } from '../shared/link/messages.ts'
import type { ControlToFront } from '../shared/link/messages.ts'
import { SnapshotFile } from '../shared/link/snapshot-file.ts'
import { RefusalLog } from './management/audit.ts'
import { Changes } from './management/changes.ts'
import { Guard } from './management/guard.ts'
import { createHandlers } from './management/handlers.ts'
import { ManagementRouter } from './management/router.ts'
import { Tokens } from './management/tokens.ts'
import { LogKeeper } from './settlement/log-keeper.ts'
import { SettledSpendReader } from './settlement/settled-spend.ts'
import { createSettler } from './settlement/settler.ts'
import { createClientAddresses } from '../front/server/client-address.ts'
import { isAlive } from '../shared/runtime/data-directory.ts'
import type { Database } from './store/database.ts'
import { upsertEntryKeyByDigest } from './store/entry-keys.ts'
import { migrate } from './store/migrate.ts'
import { partOf } from './store/database-part.ts'
import { openDatabase } from './store/open-database.ts'
import { secretsOf } from './store/secrets-check.ts'
import { initialiseSetting } from './store/settings.ts'
import { TransactionScope } from './store/transaction-scope.ts'
import { UPSTREAM_SEAL } from './store/upstreams.ts'
import { drainOnRequest, receiveSetup, reportFatal, tellSupervisor } from '../supervisor/child.ts'
import type { ControlSetup } from '../supervisor/messages.ts'
import { nodeName } from '../supervisor/node-name.ts'
import { leavingFronts } from '../supervisor/succession.ts'
import { createLogger } from '../shared/telemetry/logger.ts'
import type { Logger } from '../shared/telemetry/logger.ts'
import { MetricRegistry } from '../shared/telemetry/metric-registry.ts'
import { Metrics } from '../shared/telemetry/metrics.ts'
import { ProcessSamples } from '../shared/telemetry/process-samples.ts'

const LOW_PRIORITY = 10
const HEALTH_EVERY_MS = 1_000
const RETRY_MS = 1_000
/** How long an earlier control process may take to end; longer where the fronts of its gateway serve meanwhile. */
const SOLE_CONTROL_MS = 15_000
/** How long the fronts may take to tell what they hold, after a restart. */
const RESUME_GRACE_MS = 2_000
/** The same while a gateway hands over: its fronts serve meanwhile, and what one of them holds must not be granted again. */
const HAND_OVER_GRACE_MS = 5_000
const RESUME_LOOK_MS = 50

/** The control process: everything that waits, at low priority. Fronts go on without it. */
async function runControl(setup: ControlSetup): Promise<void> {
  const { config } = setup
  const logger = createLogger({ level: config.log.level, file: config.log.file, name: 'control' })
  const onFault = (cause: unknown): void => {
    logger.error({ err: cause }, 'the control process met an error')
  }
  const clock = systemClock
  const baseUrl = config.server.baseUrl ?? setup.displayUrl
  const log = (step: string): void => {
    logger.debug({ sinceStartMs: Math.round(performance.now()) }, step)
  }
  log('the control process has its modules and its setup')
  const adminPhone = firstAdminPhone(config)
  const isHandOver = setup.handedOverFronts > 0
  const handOverMs = isHandOver ? config.server.drainTimeoutMs : 0
  const lock = await takeControlLock(config.dataDir, SOLE_CONTROL_MS + handOverMs, () => {
    tellSupervisor({ type: 'waiting' })
  })
  tellSupervisor({ type: 'sole' })
  log('no other control process works on the data directory')
  const { database, prepared } = await openStore(setup, logger, async (opened) => {
    log('the database is open')
    await migrate(opened)
    log('the schema is up to date')
    const secrets = await secretsOf(opened, config.dataDir, process.env)
    for (const key of config.keys) await upsertEntryKeyByDigest(opened, declaredEntryKey(key, secrets.keyHash))
    const made = await firstRun(opened, { dataDir: config.dataDir, baseUrl, secret: secrets.keyHash, adminPhone })
    return { secrets, made }
  })
  const { secrets, made } = prepared
  await initialiseSetting(database, 'installed_at', new Date(clock.now()).toISOString())

  const metrics = new Metrics()
  const registry = new MetricRegistry(metrics)
  const relayWatch: RelayStatistics = new RelayStatistics(clock, registry, () => link.fronts)
  const processSamples = new ProcessSamples('control', onFault)
  const journalDirectory = join(config.dataDir, 'journal')
  await mkdir(journalDirectory, { recursive: true, mode: 0o700 })
  const prices = new PriceBook()
  const node = await nodeName(config.dataDir)
  const settler = createSettler({
    database,
    journalDirectory,
    node,
    clock,
    isWriterAlive: isAlive,
    logger: logger.child('settler'),
    priceOf: (providerId, servedModel, usage) => prices.costOf(providerId, servedModel, usage),
    tenants: () => publisher.tenants,
    onWriterEnded: (writer) => {
      authority.ended(writer)
    },
    onCommitted: (rows, deadLetters) => {
      metrics.counter('settledRows').at().add(rows)
      metrics.counter('deadLetters').at().add(deadLetters)
    },
  })

  const journalWatch = new JournalWatch({
    directory: journalDirectory,
    measure: () => settler.measure(),
    alertLagMs: config.journal.alertLagMs,
    onBehind: (state) => {
      logger.warn({ ...state }, 'the database is far behind the journal')
    },
    onCaughtUp: (state) => {
      logger.warn({ ...state }, 'the database has caught up with the journal')
    },
  })
  const tokens = new Tokens(secrets.jwtKeys)
  let stores: StoreHealth | null = null
  let health: ControlToFront | null = null
  const keyHealthEvents = new KeyHealthBoard(clock)
  const jobClaims = new JobClaims(database, onFault)
  let onDrained = (): void => undefined
  const drained = new Promise<void>((resolve) => (onDrained = resolve))
  const budgets = new SettledSpendReader({ database, node, drained, onFault })
  // Fronts that were there before this process hold leases of an earlier one.
  const goesOn = setup.isRestart || isHandOver
  let expectedFronts = config.server.fronts + setup.handedOverFronts
  const holders = (): number => Math.max(expectedFronts, link.fronts)
  const leaseOptions = {
    clock,
    reply: (front: string, reply: LeaseReply) => {
      link.send(front, reply)
    },
  }
  // Redis and mail are loaded where they are used: together they are a seventh of what a start loads.
  const sharedLeases =
    config.redis.address === null
      ? null
      : new (await import('./leases/shared-leases.ts')).SharedLeases({
          ...leaseOptions,
          address: config.redis.address,
          prefix: config.redis.keyPrefix,
          node,
          incarnation: Date.now(),
          fronts: holders,
          isRestart: goesOn,
          budgets,
          onHere: () => {
            logger.info('limits are shared through Redis')
            for (const message of leaseGreeting()) link.broadcast(message)
          },
          onAway: (cause) => {
            logger.warn({ err: cause }, 'Redis is away: fronts go on with what they hold')
            link.broadcast({ type: 'lease-away' })
          },
          onHolders: (holders) => {
            link.broadcast({ type: 'lease-terms', holders })
          },
          onNews: (news) => {
            keyHealthEvents.add(news)
            link.broadcast({ type: 'key-news', news })
          },
          onConnectionError: (error) => {
            logger.debug({ err: error }, 'the Redis connection broke')
          },
          onFault,
        })
  const inProcess =
    sharedLeases === null
      ? new InProcessAuthority({
          ...leaseOptions,
          holders,
          closed: goesOn,
          onOpen: () => {
            gate.open()
          },
          budgets,
          departed: await readDepartedUse(config.dataDir).catch((cause: unknown) => {
            logger.warn({ err: cause }, 'what the gateway before used of limits cannot be read: it is not counted')
            return []
          }),
        })
      : null
  const holdersEverywhere = (): number => sharedLeases?.authority.holders ?? holders()
  const authority: Authority = sharedLeases?.authority ?? (inProcess as InProcessAuthority)
  const leaseGreeting = (): ControlToFront[] => {
    const { epoch } = authority
    return [
      { type: 'lease-terms', holders: holdersEverywhere() },
      ...(epoch === null ? [] : [{ type: 'lease-epoch', epoch } as const]),
    ]
  }
  let toldHolders = 0
  /** While a gateway hands over to this one there are more fronts than later. */
  const tellHolders = (): void => {
    if (sharedLeases !== null || holders() === toldHolders) return
    toldHolders = holders()
    link.broadcast({ type: 'lease-terms', holders: toldHolders })
  }
  const monitor = new StoreMonitor(database, sharedLeases?.connection ?? null, journalWatch, clock)
  const renderMetrics = (): string => {
    const state = controlSamples({
      fronts: link.fronts,
      lag: settler.lag(),
      snapshotVersion: publisher.current?.version ?? 0,
      stores,
    })
    return registry.render([...processSamples.take(), ...state], clock.now())
  }
  const reach = new UpstreamReach(config.management.privateUpstreams)
  const book = new UpstreamBook({
    upstreams: config.upstreams,
    simulated: setup.simulatorPort === null ? [] : simulatorUpstreams(setup.simulatorPort),
    facts: config.models,
    timeouts: config.upstream.timeouts,
    reach,
  })
  const seal = new Seal(secrets.keyHash, UPSTREAM_SEAL)
  const trials = new UpstreamProbes(clock, config.server.vendor, { reach, onFault })
  const managed = partOf(database, config.database.maxConnections)
  const units = new TransactionScope(managed)
  const { smtp } = config.mail
  const mailer =
    smtp === null
      ? null
      : new (await import('./management/mailer.ts')).Mailer({ ...smtp, logger: logger.child('mail') })
  const router = new ManagementRouter({
    handlers: createHandlers({
      database: units,
      reading: managed,
      mailer,
      tokens,
      keyHash: secrets.keyHash,
      registrationOpen: config.registrationOpen,
      journalHealth: () => journalWatch.health,
      version: ownVersion(),
      vendor: config.server.vendor,
      renderMetrics,
      relayState: () => relayWatch.state(),
      book,
      seal,
      tryUpstream: (deployment, signal) => trials.run(deployment, signal),
    }),
    guard: new Guard({ database: managed, tokens, scraperSecret: config.metrics.token }),
    changes: new Changes(units, secrets.keyHash),
    refusals: new RefusalLog(managed, clock),
    onFault,
  })
  const link: ControlLink = new ControlLink({
    socketPath: setup.socketPath,
    maxBodyBytes: MAX_MANAGEMENT_BODY_BYTES,
    greet: () => {
      const { current } = gate
      const snapshot: ControlToFront[] = current === null ? [] : [{ type: 'snapshot', snapshot: current }]
      tellHolders()
      const news = keyHealthEvents.current().map((one): ControlToFront => ({ type: 'key-news', news: one }))
      return [...leaseGreeting(), ...snapshot, ...news, ...(health === null ? [] : [health])]
    },
    leases: authority,
    jobs: jobClaims,
    onKeyHealthEvent: (news) => {
      keyHealthEvents.add(news)
      sharedLeases?.news.tell(news)
    },
    refreshSnapshot: async () => {
      await publisher.refresh()
      await gate.opened
    },
    serve: (request) => router.serve(request),
    onUsage: (share) => {
      monitor.addUsage(share)
    },
    onMetrics: (front, connection, report) => {
      registry.absorb(front, connection, report, clock.now())
      relayWatch.absorb(report)
    },
    onGone: (connection) => {
      registry.forget(connection)
      tellHolders()
    },
    onFault,
  })
  const gate = new SnapshotGate((snapshot) => {
    link.broadcast({ type: 'snapshot', snapshot })
  })
  if (!isHandOver) gate.open()
  const snapshotFile = new SnapshotFile(setup.socketPath, secrets.keyHash)
  const publisher = new SnapshotPublisher({
    database,
    book,
    seal,
    onProblem: (problem) => {
      logger.warn({ problem }, 'something stored of an upstream or a model cannot be used')
    },
    publish: (snapshot) => {
      prices.update(snapshot)
      gate.publish(snapshot)
      snapshotFile.keep(snapshot, onFault)
    },
    onFault,
  })

  const { host, port, token } = config.metrics
  const metricsListener =
    port === null ? null : new MetricsListener({ host, port, token, render: renderMetrics, onFault })
  const addresses = createClientAddresses(config.server.trustedProxies)
  const managementListener =
    config.management.port === null
      ? null
      : new ManagementListener({
          host: config.management.host,
          port: config.management.port,
          maxBodyBytes: MAX_MANAGEMENT_BODY_BYTES,
          serve: (request) => router.serve(request),
          refuse: (error, requestId) => router.refuse(error, requestId),
          addressOf: (peer, forwardedFor) => addresses.of(peer, forwardedFor),
          now: () => clock.now(),
          onFault,
        })
  log('the control process is made')
  await publisher.start()
  await link.listen()
  const look = repeat(
    RESUME_LOOK_MS,
    () => {
      expectedFronts = config.server.fronts + leavingFronts(config.dataDir)
      inProcess?.openOnceResumed()
    },
    onFault,
  )
  setTimeout(
    () => {
      clearInterval(look)
      inProcess?.open()
      expectedFronts = config.server.fronts
      tellHolders()
    },
    isHandOver ? HAND_OVER_GRACE_MS : RESUME_GRACE_MS,
  ).unref()
  log('fronts can connect')
  if (sharedLeases !== null) {
    await sharedLeases.ready()
    gate.open()
  }
  await metricsListener?.listen()
  await managementListener?.listen()
  settler.start()
  const logKeeper = new LogKeeper({
    database,
    clock,
    retentionDays: config.log.retentionDays,
    logger: logger.child('log-keeper'),
  })
  settler.catchUp().then(onDrained, () => undefined)
  let checking = false
  const checkHealth = async (): Promise<void> => {
    if (checking) return
    checking = true
    try {
      stores = await monitor.check()
      health = { type: 'health', ...stores, cacheShare: monitor.cacheShare() }
    } finally {
      checking = false
    }
    link.broadcast(health)
  }
  await checkHealth()
  const tellHealth = (): void => {
    checkHealth().catch(onFault)
  }
  const healthTimer = repeat(HEALTH_EVERY_MS, tellHealth, onFault)
  // The fronts of the gateway before end after this: what they hold has been told by then.
  await gate.opened
  lowerPriority(logger)
  log('limits can be had')
  tellSupervisor({ type: 'ready', ...(made === null ? {} : { firstRun: made }) })

  drainOnRequest(async (reason) => {
    const beganMs = performance.now()
    const logEnd = (step: string): void => {
      logger.debug({ sinceEndMs: Math.round(performance.now() - beganMs) }, step)
    }
    logEnd('the control process ends')
    clearInterval(healthTimer)
    jobClaims.stop()
    if (reason === 'hand-over') link.broadcast({ type: 'lease-hand-over' })
    link.close()
    metricsListener?.close()
    managementListener?.close()
    mailer?.close()
    processSamples.stop()
    // The fronts have ended before: what they wrote is settled, so that the next start has nothing to catch up with.
    if (reason === 'stop') await Promise.race([settler.drain(), elapsed(config.server.drainTimeoutMs)])
    await settler.stop()
    logEnd('settling has ended')
    if (inProcess !== null) await writeDepartedUse(config.dataDir, inProcess.departed()).catch(onFault)
    await logKeeper.stop()
    await publisher.stop()
    // Fronts that another gateway's control process is about to hear go on with what they hold.
    await sharedLeases?.close(reason !== 'hand-over')
    logEnd('nothing uses the database any more')
    await database.close()
    logEnd('the database is closed')
    await lock.release()
    logger.flush()
  })
}

/**
 * Opens and prepares the database. On the first start of a gateway a database that cannot be had is an error to show; a
 * control process that was started again waits for it, the fronts do without meanwhile.
 */
async function openStore<T>(
  setup: ControlSetup,
  logger: Logger,
  prepare: (database: Database) => Promise<T>,
): Promise<{ database: Database; prepared: T }> {
  const { config } = setup
  for (;;) {
    try {
      const database = await openDatabase({
        ...config.database,
        dataDir: config.dataDir,
        onFault: (error) => {
          logger.warn({ err: error }, 'the database reports a fault')
        },
      })
      try {
        return { database, prepared: await prepare(database) }
      } catch (cause) {
        await database.close()
        throw cause
      }
    } catch (cause) {
      // A line for the operator as it is.
      if (!setup.isRestart && cause instanceof ConfigError) throw cause
      if (!setup.isRestart) throw new Error(databaseMessage(config, cause), { cause })
      logger.error({ err: cause }, 'the database cannot be opened; trying again')
      await elapsed(RETRY_MS)
    }
  }
}

function databaseMessage(config: Config, cause: unknown): string {
  const reason = cause instanceof Error ? cause.message : String(cause)
  if (config.database.url === null) return `the embedded database in ${config.dataDir} cannot be opened: ${reason}`
  const { host } = new URL(config.database.url.replace('@/', '@socket/'))
  return `the database at ${host} (DATABASE_URL) cannot be used: ${reason}`
}

function lowerPriority(logger: Logger): void {
  try {
    setPriority(process.pid, LOW_PRIORITY)
  } catch (cause) {
    logger.warn({ err: cause }, 'the priority of the control process cannot be lowered')
  }
}

receiveSetup(runControl, reportFatal)
