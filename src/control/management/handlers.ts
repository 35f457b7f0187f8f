import type { JournalHealth } from '../../shared/core/health.ts'
import type { MoneyConfig } from '../../shared/config/shape.ts'
import type { ShownSetting } from '../../shared/config/shown-settings.ts'
import type { RelayState } from '../../shared/core/relay-state.ts'
import { accountHandlers } from './account-handlers.ts'
import type { AccountParts } from './account-handlers.ts'
import { alertHandlers } from './alert-handlers.ts'
import type { AlertParts } from './alert-handlers.ts'
import { auditHandlers } from './audit-handlers.ts'
import type { CaptureParts } from './capture-parts.ts'
import type { Handlers } from './call.ts'
import { departmentHandlers } from './department-handlers.ts'
import { documentationHandlers } from './documentation-handlers.ts'
import { enterpriseHandlers } from './enterprise-handlers.ts'
import { enterpriseKeyHandlers } from './enterprise-key-handlers.ts'
import { journalHandlers } from './journal-handlers.ts'
import type { DeadLetterParts } from './journal-handlers.ts'
import { keyHandlers } from './key-handlers.ts'
import type { LiveLog } from './live-log.ts'
import { logHandlers } from './log-handlers.ts'
import { memberHandlers } from './member-handlers.ts'
import { oidcHandlers } from './oidc-handlers.ts'
import type { OidcParts } from './oidc-handlers.ts'
import { platformStatsHandlers } from './platform-stats-handlers.ts'
import { ModelBudgets } from './model-budgets.ts'
import { modelGroupHandlers } from './model-group-handlers.ts'
import { modelHandlers } from './model-handlers.ts'
import { sessionHandlers } from './session-handlers.ts'
import type { SessionParts } from './session-handlers.ts'
import { withSpend } from './spend.ts'
import type { BudgetsTaken } from './spend.ts'
import { statsHandlers } from './stats-handlers.ts'
import { systemHandlers } from './system-handlers.ts'
import { toolConnectionHandlers } from './tool-connection-handlers.ts'
import type { ToolConnectionParts } from './tool-connection-handlers.ts'
import { toolServerHandlers } from './tool-server-handlers.ts'
import type { ToolServerParts } from './tool-server-handlers.ts'
import { totpHandlers } from './totp-handlers.ts'
import type { TotpParts } from './totp-handlers.ts'
import { upstreamHandlers } from './upstream-handlers.ts'
import type { UpstreamParts } from './upstream-handlers.ts'
import { upstreamKeyHandlers } from './upstream-key-handlers.ts'
import { userHandlers } from './user-handlers.ts'
import { walletHandlers } from './wallet-handlers.ts'

export interface HandlerParts extends SessionParts, AccountParts, OidcParts, TotpParts, UpstreamParts {
  /** The secret for the digests of entry keys. */
  readonly keyHash: Buffer
  readonly journalHealth: () => JournalHealth
  readonly deadLetters: DeadLetterParts
  /** The version of the gateway. */
  readonly version: string
  /** The configuration file; null: there is none. */
  readonly configFile: string | null
  /** Of the running configuration, without secrets. */
  readonly settings: () => readonly ShownSetting[]
  /** The start of this process. */
  readonly startedAt: Date
  /** The vendor of the messages protocol: some AI endpoints are also served under `/<vendor>`. */
  readonly vendor: string
  readonly renderMetrics: () => string
  /** Days for which the rows of the request log are kept; 0: all. */
  readonly retentionDays: number
  readonly relayState: () => RelayState
  readonly live: LiveLog
  readonly money: MoneyConfig
  readonly budgetsTaken: BudgetsTaken
  readonly alerts: AlertParts
  readonly captures: CaptureParts
  readonly toolServers: ToolServerParts
  readonly toolConnections: ToolConnectionParts
}

export function createHandlers(parts: HandlerParts): Handlers {
  const { database, captures } = parts
  const keys = { keyHash: parts.keyHash, mayCapture: captures.isAllowed }
  const modelBudgets = new ModelBudgets(parts)
  const handlers: Handlers = {
    ...sessionHandlers(parts),
    ...accountHandlers(parts),
    ...oidcHandlers(parts),
    ...totpHandlers(parts),
    ...keyHandlers(database, keys),
    ...logHandlers(parts),
    ...statsHandlers(parts),
    ...platformStatsHandlers(database, parts.relayState),
    ...userHandlers(database, captures.onErased),
    ...enterpriseHandlers(database, parts.money, modelBudgets, captures),
    ...memberHandlers(database, parts, modelBudgets),
    ...departmentHandlers(database, modelBudgets),
    ...walletHandlers(database, parts.money),
    ...enterpriseKeyHandlers(database, keys, modelBudgets),
    ...upstreamHandlers(parts),
    ...upstreamKeyHandlers(parts),
    ...modelHandlers(parts),
    ...modelGroupHandlers(parts),
    ...documentationHandlers(parts.version, parts.vendor),
    ...auditHandlers(database),
    ...journalHandlers(database, parts.journalHealth, parts.deadLetters),
    ...systemHandlers(parts),
    ...alertHandlers(database, parts.alerts),
    ...toolServerHandlers(database, parts.toolServers),
    ...toolConnectionHandlers(database, parts.toolConnections),
  }
  return withSpend(handlers, database, parts.budgetsTaken)
}
