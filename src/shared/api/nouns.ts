import type { TSchema } from 'typebox'
import { Bodies, ShownCapture } from './capture.ts'
import { SignInMethods } from './operations/account.ts'
import { Alert, AlertDelivery, NewAlert, SummaryMail } from './operations/alerts.ts'
import { AuditEntry } from './operations/audit.ts'
import { CatalogueModel, ModelGroup } from './operations/catalogue.ts'
import { Department } from './operations/departments.ts'
import { EnterpriseKey, NewEnterpriseKey } from './operations/enterprise-keys.ts'
import { Enterprise, JoinRequest, OwnJoinRequest } from './operations/enterprises.ts'
import { DeadLetter, JournalState } from './operations/journal.ts'
import { Key, NewKey } from './operations/keys.ts'
import { AdminLogEntry, LogDetail, LogEntry, LogEntryWithBodies } from './operations/logs.ts'
import { Invitation, Member } from './operations/members.ts'
import { Dashboard, KeyUsage, Relay } from './operations/platform-stats.ts'
import { Account, Membership, Session, UserSession } from './operations/session.ts'
import { Usage } from './operations/stats.ts'
import { ToolConnection } from './operations/tool-connections.ts'
import { ServerTool, ToolDefinition, ToolServer } from './operations/tool-servers.ts'
import { RecoveryCodes } from './operations/totp.ts'
import { NewUpstreamKey, Upstream, UpstreamKey } from './operations/upstreams.ts'
import { User } from './operations/users.ts'
import { Wallet } from './operations/wallet.ts'
import { Spend } from './spend.ts'

/** The schemas that have a name in the OpenAPI document: a generated client has one type for each, wherever it stands. */
export const NOUNS: ReadonlyMap<TSchema, string> = new Map<TSchema, string>(
  Object.entries({
    Account,
    AdminLogEntry,
    Alert,
    AlertDelivery,
    AuditEntry,
    Bodies,
    Capture: ShownCapture,
    Dashboard,
    DeadLetter,
    Department,
    Enterprise,
    EnterpriseKey,
    Invitation,
    JoinRequest,
    OwnJoinRequest,
    JournalState,
    Key,
    KeyUsage,
    LogDetail,
    LogEntry,
    LogEntryWithBodies,
    Member,
    Membership,
    Model: CatalogueModel,
    ModelGroup,
    NewAlert,
    NewEnterpriseKey,
    NewKey,
    NewUpstreamKey,
    RecoveryCodes,
    Relay,
    ServerTool,
    Session,
    SignInMethods,
    Spend,
    SummaryMail,
    ToolConnection,
    ToolDefinition,
    ToolServer,
    Upstream,
    UpstreamKey,
    Usage,
    User,
    UserSession,
    Wallet,
  }).map(([name, schema]) => [schema, name]),
)
