import type { JournalHealth } from '../../shared/core/health.ts'
import type { MoneyConfig } from '../../shared/config/shape.ts'
import type { RelayState } from '../../shared/core/relay-state.ts'
import { auditHandlers } from './audit-handlers.ts'
import type { Handlers } from './call.ts'
import { departmentHandlers } from './department-handlers.ts'
import { documentationHandlers } from './documentation-handlers.ts'
import { enterpriseHandlers } from './enterprise-handlers.ts'
import { enterpriseKeyHandlers } from './enterprise-key-handlers.ts'
import { journalHandlers } from './journal-handlers.ts'
import { keyHandlers } from './key-handlers.ts'
import { logHandlers } from './log-handlers.ts'
import type { Mailer } from './mailer.ts'
import { memberHandlers } from './member-handlers.ts'
import { platformStatsHandlers } from './platform-stats-handlers.ts'
import { modelHandlers } from './model-handlers.ts'
import { sessionHandlers } from './session-handlers.ts'
import type { SessionParts } from './session-handlers.ts'
import { withSpend } from './spend.ts'
import type { BudgetsTaken } from './spend.ts'
import { statsHandlers } from './stats-handlers.ts'
import { upstreamHandlers } from './upstream-handlers.ts'
import type { UpstreamParts } from './upstream-handlers.ts'
import { upstreamKeyHandlers } from './upstream-key-handlers.ts'
import { userHandlers } from './user-handlers.ts'
import { walletHandlers } from './wallet-handlers.ts'

export interface HandlerParts extends SessionParts, UpstreamParts {
  /** The secret for the digests of entry keys. */
  readonly keyHash: Buffer
  readonly journalHealth: () => JournalHealth
  /** The version of the gateway. */
  readonly version: string
  /** The vendor of the messages protocol: some AI endpoints are also served under `/<vendor>`. */
  readonly vendor: string
  readonly renderMetrics: () => string
  /** Null: no e-mail is sent. */
  readonly mailer: Mailer | null
  readonly relayState: () => RelayState
  readonly money: MoneyConfig
  readonly budgetsTaken: BudgetsTaken
}

export function createHandlers(parts: HandlerParts): Handlers {
  const { database } = parts
  const handlers: Handlers = {
    ...sessionHandlers(parts),
    ...keyHandlers(database, parts.keyHash),
    ...logHandlers(database),
    ...statsHandlers(database, parts.renderMetrics),
    ...platformStatsHandlers(database, parts.relayState),
    ...userHandlers(database),
    ...enterpriseHandlers(database, parts.money),
    ...memberHandlers(database, parts.mailer),
    ...departmentHandlers(database),
    ...walletHandlers(database, parts.money),
    ...enterpriseKeyHandlers(database, parts.keyHash),
    ...upstreamHandlers(parts),
    ...upstreamKeyHandlers(parts),
    ...modelHandlers(parts),
    ...documentationHandlers(parts.version, parts.vendor),
    ...auditHandlers(database),
    ...journalHandlers(database, parts.journalHealth),
  }
  return withSpend(handlers, database, parts.budgetsTaken)
}
