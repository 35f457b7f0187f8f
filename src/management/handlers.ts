import type { JournalHealth } from '../core/health.ts'
import type { Handlers } from './call.ts'
import { documentationHandlers } from './documentation-handlers.ts'
import { journalHandlers } from './journal-handlers.ts'
import { keyHandlers } from './key-handlers.ts'
import { logHandlers } from './log-handlers.ts'
import { sessionHandlers } from './session-handlers.ts'
import type { SessionParts } from './session-handlers.ts'
import { statsHandlers } from './stats-handlers.ts'
import { userHandlers } from './user-handlers.ts'

export interface HandlerParts extends SessionParts {
  /** Under which entry keys are digested. */
  readonly keyHash: Buffer
  readonly journalHealth: () => JournalHealth
  /** Of the gateway. */
  readonly version: string
  readonly renderMetrics: () => string
}

export function createHandlers(parts: HandlerParts): Handlers {
  const { database } = parts
  return {
    ...sessionHandlers(parts),
    ...keyHandlers(database, parts.keyHash),
    ...logHandlers(database),
    ...statsHandlers(database, parts.renderMetrics),
    ...userHandlers(database),
    ...documentationHandlers(parts.version),
    ...journalHandlers(database, parts.journalHealth),
  }
}
