import type { TSchema } from 'typebox'
import { AuditEntry } from './operations/audit.ts'
import { CatalogueModel } from './operations/catalogue.ts'
import { Department } from './operations/departments.ts'
import { EnterpriseKey, NewEnterpriseKey } from './operations/enterprise-keys.ts'
import { Enterprise, JoinRequest } from './operations/enterprises.ts'
import { DeadLetter, JournalState } from './operations/journal.ts'
import { Key, NewKey } from './operations/keys.ts'
import { AdminLogEntry, LogDetail, LogEntry } from './operations/logs.ts'
import { Invitation, Member } from './operations/members.ts'
import { Dashboard, KeyUsage, Relay } from './operations/platform-stats.ts'
import { Account, Membership, Session } from './operations/session.ts'
import { Usage } from './operations/stats.ts'
import { NewUpstreamKey, Upstream, UpstreamKey } from './operations/upstreams.ts'
import { User } from './operations/users.ts'
import { Wallet } from './operations/wallet.ts'
import { ShownSpend } from './spend.ts'

/** The schemas that have a name in the OpenAPI document: a generated client has one type for each, wherever it stands. */
export const NOUNS: ReadonlyMap<TSchema, string> = new Map<TSchema, string>(
  Object.entries({
    Account,
    AdminLogEntry,
    AuditEntry,
    Dashboard,
    DeadLetter,
    Department,
    Enterprise,
    EnterpriseKey,
    Invitation,
    JoinRequest,
    JournalState,
    Key,
    KeyUsage,
    LogDetail,
    LogEntry,
    Member,
    Membership,
    Model: CatalogueModel,
    NewEnterpriseKey,
    NewKey,
    NewUpstreamKey,
    Relay,
    Session,
    Spend: ShownSpend,
    Upstream,
    UpstreamKey,
    Usage,
    User,
    Wallet,
  }).map(([name, schema]) => [schema, name]),
)
