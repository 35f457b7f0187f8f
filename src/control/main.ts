import { setPriority } from 'node:os'
import { setTimeout as elapsed } from 'node:timers/promises'
import type { Config } from '../shared/config/shape.ts'
import type { StoreHealth } from '../shared/core/health.ts'
import type { ControlLinkReceiver } from '../shared/link/control-link.ts'
import type { ControlToFront } from '../shared/link/messages.ts'
import { repeat } from '../shared/runtime/repeat.ts'
import type { Logger } from '../shared/telemetry/logger.ts'
import { MetricRegistry } from '../shared/telemetry/metric-registry.ts'
import { Metrics } from '../shared/telemetry/metrics.ts'
import { ProcessSamples } from '../shared/telemetry/process-samples.ts'
import { drainOnRequest, receiveSetup, reconfigureOnRequest, reportFatal, tellSupervisor } from '../supervisor/child.ts'
import type { ControlSetup, EndReason } from '../supervisor/messages.ts'
import { buildAlerts } from './builders/alerts.ts'
import { buildBase } from './builders/base.ts'
import { buildCaptures } from './builders/captures.ts'
import type { ControlBase } from './builders/base.ts'
import { buildHealthChecks } from './builders/health-checks.ts'
import { LeaseAuthority } from './builders/lease-authority.ts'
import { buildMailer } from './builders/mail.ts'
import { buildManagement } from './builders/management.ts'
import { buildSettlement } from './builders/settlement.ts'
import { buildSnapshots } from './builders/snapshots.ts'
import { openStore } from './builders/store.ts'
import { JobClaims } from './fronts/job-claims.ts'
import { KeyHealthBoard } from './fronts/key-health-board.ts'
import { RelayStatistics } from './fronts/relay-statistics.ts'
import { takeControlLock } from './lifecycle/control-lock.ts'
import { controlSamples } from './lifecycle/control-samples.ts'
import { StoreMonitor } from './lifecycle/store-monitor.ts'
import { LogKeeper } from './settlement/log-keeper.ts'
import { SettledSpendReader } from './settlement/settled-spend.ts'

const LOW_PRIORITY = 10
const HEALTH_EVERY_MS = 1_000
/** How long an earlier control process may take to end; longer where the fronts of its gateway serve meanwhile. */
const CONTROL_LOCK_MS = 15_000
/** The last records may take this long at least to be settled, however short drain_timeout_ms is. The supervisor waits a second longer. */
const LEAST_SETTLE_MS = 4_000

/** The control process: everything that waits, at low priority. Fronts go on without it. */
async function runControl(setup: ControlSetup): Promise<void> {
  const base = buildBase(setup)
  const { logger, link } = base
  const log = logsSteps(logger, 'sinceStartMs', 0)
  log('the control process has its modules and its setup')
  const lock = await takeLock(base)
  log('no other control process works on the data directory')
  const control = await buildControl(base)
  const { snapshots, leases, management, settlement, logKeeper, store } = control
  log('the control process is made')
  await snapshots.publisher.start()
  await link.listen(receiverOf(base, control))
  leases.awaitFronts()
  log('fronts can connect')
  if (leases.shared !== null) {
    await leases.ready()
    snapshots.gate.open()
  }
  await management.listen()
  settlement.settler.start()
  logKeeper.start()
  control.captures.keeper.start()
  control.healthChecks.start()
  settlement.settler.catchUp().then(control.onCaughtUp, () => undefined)
  const stopHealth = await startHealth(base, control)
  // After the first look at the journal: a lag that is not known yet is none.
  control.alerts.start()
  // The fronts of the gateway before end after this: what they hold has been told by then.
  await snapshots.gate.opened
  lowerPriority(logger)
  log('limits can be had')
  tellSupervisor({ type: 'ready', ...(store.made === null ? {} : { firstRun: store.made }) })
  reconfigureOnRequest({
    prepare: () => Promise.resolve(),
    apply: ({ config }) => takeConfig(control, config),
    discard: () => undefined,
  })
  drainOnRequest(async (reason) => {
    stopHealth()
    await close(base, control, reason)
    await lock.release()
    logger.flush()
  })
}

type Control = Awaited<ReturnType<typeof buildControl>>

/** Builds all parts; none of them has begun to serve. */
async function buildControl(base: ControlBase) {
  const { setup, config, logger, clock, link, onFault } = base
  const store = await openStore(base)
  const snapshots = buildSnapshots(base, store)
  const { gate, publisher } = snapshots
  if (setup.handedOverFronts === 0) gate.open()
  const metrics = new Metrics()
  const registry = new MetricRegistry(metrics)
  const relayStatistics = new RelayStatistics(clock, registry, () => link.fronts)
  const processSamples = new ProcessSamples('control', onFault)
  processSamples.sampleLoop(clock, onFault)
  const keyHealthEvents = new KeyHealthBoard(clock)
  const jobClaims = new JobClaims(store.database, onFault)
  let onCaughtUp: () => void = () => undefined
  const drained = new Promise<void>((resolve) => (onCaughtUp = resolve))
  const budgets = new SettledSpendReader({ database: store.database, node: store.node, drained, onFault })
  const leases = await LeaseAuthority.build(base, {
    node: store.node,
    budgets,
    keyHealthEvents,
    onOpen: () => {
      gate.open()
    },
  })
  const settlement = await buildSettlement(base, { store, snapshots, authority: leases.authority, metrics })
  const monitor = new StoreMonitor(store.database, leases.shared?.connection ?? null, settlement.journalWatch, clock)
  const health: { stores: StoreHealth | null } = { stores: null }
  const renderMetrics = (): string => {
    const state = controlSamples({
      fronts: link.fronts,
      lag: settlement.settler.lag(),
      snapshotVersion: publisher.current?.version ?? 0,
      stores: health.stores,
    })
    return registry.render([...processSamples.take(), ...state], clock.now())
  }
  const { journalWatch } = settlement
  const mailer = await buildMailer(base)
  const captures = buildCaptures(base, store, metrics)
  const served = { certFile: config.server.tls?.certFile ?? null, settings: config.shownSettings }
  const certFile = (): string | null => served.certFile
  const alerts = buildAlerts(base, { store, snapshots, journalWatch, relayStatistics, mailer, certFile })
  const management = buildManagement(base, {
    store,
    snapshots,
    journalWatch,
    retryDeadLetter: settlement.retry,
    settings: () => served.settings,
    relayStatistics,
    renderMetrics,
    authority: leases.authority,
    mailer,
    alerts: alerts.parts,
    captures: captures.parts,
  })
  const logKeeper = new LogKeeper({
    database: store.database,
    clock,
    retentionDays: config.log.retentionDays,
    logger: logger.child('log-keeper'),
  })
  const healthChecks = buildHealthChecks(base, { node: store.node, snapshots, leases, keyHealthEvents })
  const of = {
    store,
    snapshots,
    served,
    registry,
    relayStatistics,
    processSamples,
    keyHealthEvents,
    jobClaims,
    onCaughtUp,
  }
  return {
    ...of,
    leases,
    settlement,
    monitor,
    health,
    management,
    logKeeper,
    captures,
    healthChecks,
    alerts: alerts.runner,
  }
}

/**
 * Stores the entry keys of a configuration that was read again, and publishes its upstreams and models. The supervisor sends the
 * configuration before, when this rejects or takes too long.
 */
async function takeConfig({ store, snapshots, served }: Control, config: Config): Promise<void> {
  await store.keepDeclaredKeys(config.keys)
  const { upstreams, models: facts, modelGroups: groups, upstream } = config
  const goBack = snapshots.book.configure({ upstreams, facts, groups, timeouts: upstream.timeouts })
  try {
    await snapshots.publisher.rebuild()
  } catch (cause) {
    goBack()
    throw cause
  }
  served.certFile = config.server.tls?.certFile ?? null
  served.settings = config.shownSettings
}

/** Passes the messages of fronts to the parts that they are for. */
function receiverOf({ clock }: ControlBase, control: Control): ControlLinkReceiver {
  const { snapshots, registry, relayStatistics, keyHealthEvents, jobClaims, captures } = control
  const { leases, monitor, health, management } = control
  const { gate, publisher } = snapshots
  return {
    greet: () => {
      leases.tellHolders()
      const snapshot: ControlToFront[] = gate.current === null ? [] : [{ type: 'snapshot', snapshot: gate.current }]
      const events = keyHealthEvents.current().map((event): ControlToFront => ({ type: 'key-news', news: event }))
      return [...leases.greeting(), ...snapshot, ...events, ...healthMessage(health.stores, monitor)]
    },
    leases: leases.authority,
    jobs: jobClaims,
    captures: captures.receiver,
    onKeyHealthEvent: (event) => {
      keyHealthEvents.add(event)
      leases.shared?.news.tell(event)
    },
    refreshSnapshot: async () => {
      await publisher.refresh()
      await gate.opened
    },
    serve: management.serve,
    onUsage: (share) => {
      monitor.addUsage(share)
    },
    onMetrics: (front, connection, report) => {
      registry.absorb(front, connection, report, clock.now())
      relayStatistics.absorb(report)
    },
    onGone: (connection) => {
      registry.forget(connection)
      leases.tellHolders()
    },
  }
}

function healthMessage(stores: StoreHealth | null, monitor: StoreMonitor): ControlToFront[] {
  return stores === null ? [] : [{ type: 'health', ...stores, cacheShare: monitor.cacheShare() }]
}

/** Checks the stores, now and every second, and tells the fronts. Resolves with what stops that. */
async function startHealth({ link, onFault }: ControlBase, { monitor, health }: Control): Promise<() => void> {
  let isChecking = false
  const check = async (): Promise<void> => {
    if (isChecking) return
    isChecking = true
    try {
      health.stores = await monitor.check()
    } finally {
      isChecking = false
    }
    for (const message of healthMessage(health.stores, monitor)) link.broadcast(message)
  }
  await check()
  const timer = repeat(
    HEALTH_EVERY_MS,
    () => {
      check().catch(onFault)
    },
    onFault,
  )
  return () => {
    clearInterval(timer)
  }
}

async function close({ config, logger, link }: ControlBase, control: Control, reason: EndReason): Promise<void> {
  const { settler } = control.settlement
  const log = logsSteps(logger, 'sinceEndMs', performance.now())
  log('the control process ends')
  control.jobClaims.stop()
  if (reason === 'hand-over') link.broadcast({ type: 'lease-hand-over' })
  link.close()
  const closeManagement = control.management.close()
  control.processSamples.stop()
  const stopAlerts = control.alerts.stop()
  const stopChecks = control.healthChecks.stop()
  // The fronts have ended before. Their records are settled here, so that the next start has nothing to catch up with.
  const settleMs = Math.max(config.server.drainTimeoutMs, LEAST_SETTLE_MS)
  if (reason === 'stop') await Promise.race([settler.drain(), elapsed(settleMs)])
  await settler.stop()
  log('settling has ended')
  await closeManagement
  await stopAlerts
  await stopChecks
  await control.leases.keepDepartedUse()
  await control.logKeeper.stop()
  await control.captures.receiver.stop()
  await control.captures.keeper.stop()
  await control.snapshots.publisher.stop()
  // Fronts that the control process of another gateway is about to hear keep what they hold.
  await control.leases.shared?.close(reason !== 'hand-over')
  log('nothing uses the database any more')
  await control.store.database.close()
  log('the database is closed')
}

function takeLock({ setup, config }: ControlBase): ReturnType<typeof takeControlLock> {
  const handOverMs = setup.handedOverFronts > 0 ? config.server.drainTimeoutMs : 0
  const lock = takeControlLock(config.dataDir, CONTROL_LOCK_MS + handOverMs, () => {
    tellSupervisor({ type: 'waiting' })
  })
  return lock.then((taken) => {
    tellSupervisor({ type: 'sole' })
    return taken
  })
}

/** Logs each step with the time since `fromMs` of this process. */
function logsSteps(logger: Logger, field: 'sinceStartMs' | 'sinceEndMs', fromMs: number): (step: string) => void {
  return (step) => {
    logger.debug({ [field]: Math.round(performance.now() - fromMs) }, step)
  }
}

function lowerPriority(logger: Logger): void {
  try {
    setPriority(process.pid, LOW_PRIORITY)
  } catch (cause) {
    logger.warn({ err: cause }, 'the priority of the control process cannot be lowered')
  }
}

receiveSetup(runControl, reportFatal)
