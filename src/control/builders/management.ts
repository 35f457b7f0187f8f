import { UpstreamProbes } from '../../front/gateway/upstream-probes.ts'
import { createClientAddresses } from '../../front/server/client-address.ts'
import { ownVersion } from '../../shared/config/own-version.ts'
import type { ShownSetting } from '../../shared/config/shown-settings.ts'
import { Seal } from '../../shared/runtime/seal.ts'
import { MAX_MANAGEMENT_BODY_BYTES } from '../../shared/link/messages.ts'
import type { Authority } from '../leases/authority.ts'
import type { RelayStatistics } from '../fronts/relay-statistics.ts'
import type { JournalWatch } from '../lifecycle/journal-watch.ts'
import { ManagementListener } from '../lifecycle/management-listener.ts'
import { MetricsListener } from '../lifecycle/metrics-listener.ts'
import type { AlertParts } from '../management/alert-handlers.ts'
import { AccessTokens } from '../management/access-tokens.ts'
import { LookLog, RefusalLog } from '../management/audit.ts'
import { Changes } from '../management/changes.ts'
import { Credentials } from '../management/credentials.ts'
import { Guard } from '../management/guard.ts'
import { createHandlers } from '../management/handlers.ts'
import type { CaptureParts } from '../management/capture-parts.ts'
import type { DeadLetterParts } from '../management/journal-handlers.ts'
import { LiveLog } from '../management/live-log.ts'
import type { Mailer } from '../management/mailer.ts'
import { OidcClient } from '../management/oidc-client.ts'
import { ManagementRouter } from '../management/router.ts'
import { SecondFactor } from '../management/second-factor.ts'
import { Sessions } from '../management/sessions.ts'
import { Tokens } from '../management/tokens.ts'
import type { ManagementRequest, ManagementResponse } from '../management/web.ts'
import { isChatPath, isMcpPath } from '../mcp/paths.ts'
import { NotSettled } from '../settlement/retry-dead-letter.ts'
import { partOf } from '../store/database-part.ts'
import { TransactionScope } from '../store/transaction-scope.ts'
import type { ControlBase } from './base.ts'
import { buildMcp } from './mcp.ts'
import type { ControlSnapshots } from './snapshots.ts'
import type { ControlStore } from './store.ts'
import { buildToolServers } from './tool-servers.ts'

export interface ManagementNeeds {
  readonly store: ControlStore
  readonly snapshots: ControlSnapshots
  readonly journalWatch: JournalWatch
  readonly retryDeadLetter: DeadLetterParts['retry']
  /** Of the running configuration. */
  readonly settings: () => readonly ShownSetting[]
  readonly relayStatistics: RelayStatistics
  readonly renderMetrics: () => string
  readonly authority: Authority
  /** Null: no e-mail is sent. */
  readonly mailer: Mailer | null
  readonly alerts: AlertParts
  readonly captures: CaptureParts
}

export interface ControlManagement {
  /** Serves what fronts hand over: requests to the management API and to the tool server, and chats with tools of servers. */
  readonly serve: (request: ManagementRequest) => Promise<ManagementResponse>
  /** Its own listeners, where they are configured. */
  listen(): Promise<void>
  /** Ends live streams, sessions and listeners at once. Resolves when nothing of it reads the database in the background any more. */
  close(): Promise<void>
}

export function buildManagement(base: ControlBase, needs: ManagementNeeds): ControlManagement {
  const { config, clock, onFault } = base
  const { database, secrets } = needs.store
  const { book, seal, reach } = needs.snapshots
  const { vendor } = config.server
  const tokens = new Tokens(secrets.jwtKeys)
  const { oidc } = config.signIn
  const oidcLogger = base.logger.child('oidc')
  const oidcClient = oidc === null ? null : new OidcClient(oidc, oidcLogger)
  const probes = new UpstreamProbes(clock, vendor, { reach, onFault })
  const managed = partOf(database, config.database.maxConnections)
  const transactions = new TransactionScope(managed)
  const live = new LiveLog(managed, clock, onFault)
  const guard = new Guard({
    database: managed,
    tokens,
    scraperSecret: config.metrics.token,
    platformAdminsReadBodies: config.capture.platformAdmins,
  })
  const toolServers = buildToolServers(base, { store: needs.store, snapshots: needs.snapshots, database: managed })
  const router = new ManagementRouter({
    handlers: createHandlers({
      database: transactions,
      reading: managed,
      mailer: needs.mailer,
      sessions: new Sessions(transactions, tokens, config.money),
      credentials: new Credentials(clock),
      consoleUrl: config.signIn.consoleUrl,
      secondFactor: new SecondFactor(clock, managed, secrets.keyHash),
      oidc,
      oidcClient,
      cookieSeal: new Seal(secrets.keyHash, 'sign-in cookie'),
      oidcLogger,
      onFault,
      keyHash: secrets.keyHash,
      registrationOpen: config.registrationOpen,
      journalHealth: () => needs.journalWatch.health,
      deadLetters: {
        retry: needs.retryDeadLetter,
        onCharged: (budgets) => {
          needs.authority.settledLate(budgets)
        },
        whyNot: (cause) => (cause instanceof NotSettled ? cause.message : null),
      },
      version: ownVersion(),
      configFile: config.file,
      settings: needs.settings,
      startedAt: new Date(clock.now()),
      vendor,
      renderMetrics: needs.renderMetrics,
      retentionDays: config.log.retentionDays,
      live,
      relayState: () => needs.relayStatistics.state(),
      book,
      seal,
      money: config.money,
      budgetsTaken: (allowances) => needs.authority.budgetsTaken(allowances),
      tryUpstream: (deployment, signal) => probes.run(deployment, signal),
      alerts: needs.alerts,
      captures: needs.captures,
      toolServers: toolServers.parts,
      toolConnections: toolServers.connections,
    }),
    guard,
    changes: new Changes(transactions, secrets.keyHash),
    refusals: new RefusalLog(managed, clock),
    looks: new LookLog(managed),
    onFault,
  })
  const mcp = buildMcp(base, {
    store: needs.store,
    snapshots: needs.snapshots,
    database: managed,
    guard,
    router,
    accessTokens:
      oidc === null || oidcClient === null
        ? null
        : new AccessTokens({ database: managed, tokens, config: oidc, client: oidcClient, logger: oidcLogger }),
    toolServers,
  })
  const serve = (request: ManagementRequest): Promise<ManagementResponse> =>
    isMcpPath(request.path) && config.mcp.enabled ? mcp.serve(request) : router.serve(request)
  const listeners = [metricsListener(base, needs.renderMetrics), managementListener(base, router, serve)]
  return {
    serve: (request) => (isChatPath(request.path, config.server.vendor) ? mcp.converse(request) : serve(request)),
    async listen() {
      for (const listener of listeners) await listener?.listen()
    },
    close() {
      const liveClosed = live.close()
      mcp.close()
      toolServers.close()
      for (const listener of listeners) listener?.close()
      needs.mailer?.close()
      return liveClosed
    },
  }
}

function metricsListener({ config, onFault }: ControlBase, render: () => string): MetricsListener | null {
  const { host, port, token } = config.metrics
  return port === null ? null : new MetricsListener({ host, port, token, render, onFault })
}

function managementListener(
  base: ControlBase,
  router: ManagementRouter,
  serve: ControlManagement['serve'],
): ManagementListener | null {
  const { config, clock, onFault } = base
  const { host, port } = config.management
  if (port === null) return null
  const addresses = createClientAddresses(config.server.trustedProxies)
  return new ManagementListener({
    host,
    port,
    maxBodyBytes: MAX_MANAGEMENT_BODY_BYTES,
    bodyTimeoutMs: config.server.bodyTimeoutMs,
    serve,
    refuse: (error, requestId) => router.refuse(error, requestId),
    addressOf: (peer, forwardedFor) => addresses.of(peer, forwardedFor),
    now: () => clock.now(),
    onFault,
  })
}
