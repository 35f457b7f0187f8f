import { ACCOUNT } from './account.ts'
import { ALERTS } from './alerts.ts'
import { AUDIT } from './audit.ts'
import { CATALOGUE } from './catalogue.ts'
import { DEPARTMENTS } from './departments.ts'
import { DOCUMENTATION } from './documentation.ts'
import { ENTERPRISE_KEYS } from './enterprise-keys.ts'
import { ENTERPRISES } from './enterprises.ts'
import { JOURNAL } from './journal.ts'
import { KEYS } from './keys.ts'
import { LOGS } from './logs.ts'
import { MEMBERS } from './members.ts'
import { OIDC } from './oidc.ts'
import { PLATFORM_STATS } from './platform-stats.ts'
import { SESSION } from './session.ts'
import { STATS } from './stats.ts'
import { SYSTEM } from './system.ts'
import { TOOL_CONNECTIONS } from './tool-connections.ts'
import { TOOL_SERVERS } from './tool-servers.ts'
import { TOTP } from './totp.ts'
import { UPSTREAMS } from './upstreams.ts'
import { USERS } from './users.ts'
import { WALLET } from './wallet.ts'

/** Every operation of the management plane by its name, which is its `operationId`. Of two paths that match, the first one counts. */
export const OPERATIONS = {
  ...SESSION,
  ...ACCOUNT,
  ...OIDC,
  ...TOTP,
  ...KEYS,
  ...LOGS,
  ...STATS,
  ...PLATFORM_STATS,
  ...USERS,
  ...JOURNAL,
  ...SYSTEM,
  ...AUDIT,
  ...DOCUMENTATION,
  ...MEMBERS,
  ...ENTERPRISES,
  ...DEPARTMENTS,
  ...WALLET,
  ...ENTERPRISE_KEYS,
  ...UPSTREAMS,
  ...CATALOGUE,
  ...ALERTS,
  ...TOOL_SERVERS,
  ...TOOL_CONNECTIONS,
} as const

export type Operations = typeof OPERATIONS
export type OperationName = keyof Operations
