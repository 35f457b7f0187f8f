import { PublicPost } from '../../front/upstream/public-post.ts'
import { ownVersion } from '../../shared/config/own-version.ts'
import { UpstreamReach, WEBHOOK_REACH_KEY } from '../../shared/core/upstream-reach.ts'
import { Seal } from '../../shared/runtime/seal.ts'
import { AlertRunner } from '../alerts/alert-runner.ts'
import { AlertSender } from '../alerts/sender.ts'
import { AlertTester } from '../alerts/alert-tester.ts'
import type { RelayStatistics } from '../fronts/relay-statistics.ts'
import type { JournalWatch } from '../lifecycle/journal-watch.ts'
import type { AlertParts } from '../management/alert-handlers.ts'
import type { Mailer } from '../management/mailer.ts'
import { partOf } from '../store/database-part.ts'
import type { ControlBase } from './base.ts'
import type { ControlSnapshots } from './snapshots.ts'
import type { ControlStore } from './store.ts'

/** One statement at a time: alerts may wait. */
const CONNECTIONS = 1

export interface AlertNeeds {
  readonly store: ControlStore
  readonly snapshots: ControlSnapshots
  readonly journalWatch: JournalWatch
  readonly relayStatistics: RelayStatistics
  readonly mailer: Mailer | null
  /** The file of the certificate that fronts serve; null: there is none. */
  readonly certFile: () => string | null
}

export interface ControlAlerts {
  readonly runner: AlertRunner
  /** The parts of alerts that the management API uses. */
  readonly parts: AlertParts
}

export function buildAlerts(base: ControlBase, needs: AlertNeeds): ControlAlerts {
  const { config, logger, clock, onFault } = base
  const { store, snapshots, journalWatch, relayStatistics, mailer, certFile } = needs
  const database = partOf(store.database, CONNECTIONS)
  const reach = new UpstreamReach(config.alerts.privateWebhooks, WEBHOOK_REACH_KEY)
  const seal = new Seal(store.secrets.keyHash, 'webhook secret')
  const posts = new PublicPost(clock, { reach, onFault })
  const sender = new AlertSender({
    database,
    seal,
    reach,
    post: (...call) => posts.post(...call),
    mailer,
    userAgent: `sluice/${ownVersion()}`,
  })
  const runner = new AlertRunner({
    database,
    clock,
    node: store.node,
    currency: config.money.currency,
    checkIntervalMs: config.alerts.checkIntervalMs,
    retentionDays: config.alerts.retentionDays,
    sources: {
      providers: () => snapshots.publisher.current?.providers ?? [],
      relay: () => relayStatistics.state(),
      journal: () => journalWatch.health,
      alertLagMs: config.journal.alertLagMs,
      certFile,
    },
    sender,
    logger: logger.child('alerts'),
  })
  const tester = new AlertTester(database, sender, clock)
  return {
    runner,
    parts: { seal, reach, hasMail: mailer !== null, test: (scope, alert, signal) => tester.test(scope, alert, signal) },
  }
}
