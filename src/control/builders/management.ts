import { UpstreamProbes } from '../../front/gateway/upstream-probes.ts'
import { createClientAddresses } from '../../front/server/client-address.ts'
import { ownVersion } from '../../shared/config/own-version.ts'
import { MAX_MANAGEMENT_BODY_BYTES } from '../../shared/link/messages.ts'
import type { Authority } from '../leases/authority.ts'
import type { RelayStatistics } from '../fronts/relay-statistics.ts'
import type { JournalWatch } from '../lifecycle/journal-watch.ts'
import { ManagementListener } from '../lifecycle/management-listener.ts'
import { MetricsListener } from '../lifecycle/metrics-listener.ts'
import { RefusalLog } from '../management/audit.ts'
import { Changes } from '../management/changes.ts'
import { Guard } from '../management/guard.ts'
import { createHandlers } from '../management/handlers.ts'
import { ManagementRouter } from '../management/router.ts'
import { Tokens } from '../management/tokens.ts'
import { partOf } from '../store/database-part.ts'
import { TransactionScope } from '../store/transaction-scope.ts'
import type { ControlBase } from './base.ts'
import type { ControlSnapshots } from './snapshots.ts'
import type { ControlStore } from './store.ts'

export interface ManagementNeeds {
  readonly store: ControlStore
  readonly snapshots: ControlSnapshots
  readonly journalWatch: JournalWatch
  readonly relayStatistics: RelayStatistics
  readonly renderMetrics: () => string
  readonly authority: Authority
}

export interface ControlManagement {
  readonly router: ManagementRouter
  /** Its own listeners, where they are configured. */
  listen(): Promise<void>
  close(): void
}

export async function buildManagement(base: ControlBase, needs: ManagementNeeds): Promise<ControlManagement> {
  const { config, logger, clock, onFault } = base
  const { database, secrets } = needs.store
  const { book, seal, reach } = needs.snapshots
  const { vendor } = config.server
  const tokens = new Tokens(secrets.jwtKeys)
  const probes = new UpstreamProbes(clock, vendor, { reach, onFault })
  const managed = partOf(database, config.database.maxConnections)
  const transactions = new TransactionScope(managed)
  const { smtp } = config.mail
  // Mail is loaded where it is used.
  const mailer =
    smtp === null
      ? null
      : new (await import('../management/mailer.ts')).Mailer({ ...smtp, logger: logger.child('mail') })
  const router = new ManagementRouter({
    handlers: createHandlers({
      database: transactions,
      reading: managed,
      mailer,
      tokens,
      keyHash: secrets.keyHash,
      registrationOpen: config.registrationOpen,
      journalHealth: () => needs.journalWatch.health,
      version: ownVersion(),
      vendor,
      renderMetrics: needs.renderMetrics,
      relayState: () => needs.relayStatistics.state(),
      book,
      seal,
      money: config.money,
      budgetsTaken: (allowances) => needs.authority.budgetsTaken(allowances),
      tryUpstream: (deployment, signal) => probes.run(deployment, signal),
    }),
    guard: new Guard({ database: managed, tokens, scraperSecret: config.metrics.token }),
    changes: new Changes(transactions, secrets.keyHash),
    refusals: new RefusalLog(managed, clock),
    onFault,
  })
  const listeners = [metricsListener(base, needs.renderMetrics), managementListener(base, router)]
  return {
    router,
    async listen() {
      for (const listener of listeners) await listener?.listen()
    },
    close() {
      for (const listener of listeners) listener?.close()
      mailer?.close()
    },
  }
}

function metricsListener({ config, onFault }: ControlBase, render: () => string): MetricsListener | null {
  const { host, port, token } = config.metrics
  return port === null ? null : new MetricsListener({ host, port, token, render, onFault })
}

function managementListener(base: ControlBase, router: ManagementRouter): ManagementListener | null {
  const { config, clock, onFault } = base
  const { host, port } = config.management
  if (port === null) return null
  const addresses = createClientAddresses(config.server.trustedProxies)
  return new ManagementListener({
    host,
    port,
    maxBodyBytes: MAX_MANAGEMENT_BODY_BYTES,
    bodyTimeoutMs: config.server.bodyTimeoutMs,
    serve: (request) => router.serve(request),
    refuse: (error, requestId) => router.refuse(error, requestId),
    addressOf: (peer, forwardedFor) => addresses.of(peer, forwardedFor),
    now: () => clock.now(),
    onFault,
  })
}
