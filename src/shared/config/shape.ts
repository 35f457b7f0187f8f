import type { DegradedMode } from '../core/allowance.ts'
import type { ModelBudget, MonthlyBudget } from '../core/budget.ts'
import type { ModelFacts } from '../core/model-facts.ts'
import type { ModelGroup } from '../core/model-names.ts'
import type { AuthStyle, KeyLimits, Provider, UpstreamTimeouts } from '../core/snapshot.ts'
import type { ToolServer } from '../core/tool-server.ts'
import type { ShownSetting } from './shown-settings.ts'

/** The whole configuration: checked, with defaults, frozen. `JSON.stringify` and `inspect` show it without secrets. */
export interface Config {
  readonly server: ServerConfig
  readonly limits: LimitsConfig
  readonly workers: WorkersConfig
  readonly upstream: UpstreamDefaults
  /** Those of the file first, then those made from credentials in the environment. */
  readonly upstreams: readonly UpstreamConfig[]
  /** By model: the models that take over when no upstream can serve it, best first. */
  readonly fallbacks: Readonly<Record<string, readonly string[]>>
  /** Facts about models: those of the file before those that come with the gateway. */
  readonly models: readonly ModelFacts[]
  readonly modelGroups: readonly ModelGroup[]
  readonly keys: readonly DeclaredKey[]
  readonly database: DatabaseConfig
  readonly redis: RedisConfig
  /** True: anybody may make an account. */
  readonly registrationOpen: boolean
  /** E.164; null: the first start makes one up. */
  readonly firstAdminPhone: string | null
  readonly signIn: SignInConfig
  readonly mail: MailConfig
  readonly money: MoneyConfig
  readonly management: ManagementConfig
  readonly mcp: McpConfig
  readonly alerts: AlertsConfig
  readonly capture: CaptureConfig
  readonly journal: JournalConfig
  /** Absolute path. */
  readonly dataDir: string
  readonly log: LogConfig
  readonly overload: OverloadConfig
  readonly metrics: MetricsConfig
  /** Whether the gateway accepts traceparent and tracestate and passes them on. */
  readonly telemetry: { readonly traceContext: boolean }
  readonly video: VideoConfig
  readonly simulator: { readonly enabled: boolean }
  /** Absolute path of the file that was read; null: there is none. */
  readonly file: string | null
  /** All keys, for people: where each value comes from, without secrets. */
  readonly shownSettings: readonly ShownSetting[]
}

export interface ServerConfig {
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  /** The address that the start line and links to videos show, without a trailing slash. */
  readonly baseUrl: string | null
  readonly fronts: number
  /** Absolute paths of PEM files. */
  readonly tls: { readonly certFile: string; readonly keyFile: string } | null
  /** Addresses and CIDR ranges. */
  readonly trustedProxies: readonly string[]
  readonly vendor: string
  readonly drainAnnounceMs: number
  readonly drainTimeoutMs: number
  readonly bodyTimeoutMs: number
  /** Origins, or `*`. Empty: off. */
  readonly corsOrigins: readonly string[]
}

export interface LimitsConfig {
  readonly maxBodyBytes: number
  readonly maxJsonDepth: number
  readonly maxJsonElements: number
  readonly maxAnswerBytes: number
  /** Per front process. */
  readonly maxRequestsInFlight: number
  readonly keyDefaults: {
    readonly requestsPerMinute: number
    readonly tokensPerMinute: number
    readonly concurrency: number
  }
  /** Limits over all keys of a user, or of an enterprise, that has no limits of its own; null: no limit. */
  readonly userDefaults: KeyLimits
  readonly enterpriseDefaults: KeyLimits
  readonly defaultOutputTokens: number
  readonly addressFailuresPerMinute: number
}

export interface WorkersConfig {
  readonly threads: number
  readonly inlineMaxBytes: number
  readonly maxQueue: number
}

export interface UpstreamDefaults {
  readonly timeouts: UpstreamTimeouts
  /** For one model, the first attempt included. */
  readonly maxAttempts: number
  /** 0: requests do not wait for a key. */
  readonly queueWaitMs: number
  /** Per front process. */
  readonly queueMax: number
  /** Retries that may be under way: `least`, or the `share` (0 to 1) of the requests under way if that is more. Per front process. */
  readonly retryBudget: { readonly least: number; readonly share: number }
}

/** A provider with its models. */
export interface UpstreamConfig extends Provider {
  readonly auth: AuthStyle
  readonly models: readonly UpstreamModel[]
}

/**
 * A model as one upstream serves it. A trailing `*` of `id` matches any rest; a trailing `*` of `upstreamModel` is then
 * replaced by that rest.
 */
export interface UpstreamModel {
  readonly id: string
  readonly upstreamModel: string
  readonly weight: number
  readonly priority: number
  readonly ownedBy: string
}

/** An entry API key given by configuration; `key` is the secret itself. */
export interface DeclaredKey {
  readonly name: string
  readonly key: string
  readonly enabled: boolean
  readonly enterpriseId: string | null
  readonly expiresAtMs: number | null
  readonly limits: KeyLimits
  readonly budget: MonthlyBudget
  readonly modelBudgets: readonly ModelBudget[]
  readonly models: readonly string[] | null
  readonly addresses: readonly string[] | null
  readonly clients: readonly string[] | null
  /** Tools at /mcp. */
  readonly tools: readonly string[] | null
}

export interface DatabaseConfig {
  /** Null: the embedded database. */
  readonly url: string | null
  readonly maxConnections: number
  readonly statementTimeoutMs: number
}

export interface McpConfig {
  readonly enabled: boolean
  /** Sessions of all users together. */
  readonly maxSessions: number
  readonly chats: ToolChatsConfig
  /** Upstream servers of tools. */
  readonly servers: readonly ToolServer[]
  /** The OpenAPI documents of these servers, by id. */
  readonly documents: ReadonlyMap<string, string>
}

/** Bounds of chats that name tool servers. */
export interface ToolChatsConfig {
  readonly maxRounds: number
  readonly maxMs: number
  readonly maxTools: number
  readonly maxResultBytes: number
  /** Micro-units; null: budgets of keys alone. */
  readonly maxCostMicro: number | null
}

export interface SignInConfig {
  /** The console, to which e-mails and OpenID log-ins lead; null: neither its address nor server.base_url is configured. */
  readonly consoleUrl: string | null
  /** Null: there is no log-in through an OpenID provider. */
  readonly oidc: OidcConfig | null
}

export interface OidcConfig {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
  /** For people. */
  readonly label: string
  readonly scopes: readonly string[]
  readonly createUsers: boolean
  readonly claims: readonly OidcClaimRule[]
  /** Audiences of access tokens that the tool server takes. */
  readonly mcpAudiences: readonly string[]
  /** Scopes that clients of the tool server ask for. */
  readonly mcpScopes: readonly string[]
  readonly redirectUrl: string
  /** The path at which browsers begin, on the host of `redirectUrl`. */
  readonly startPath: string
}

/** A user whose claim has the value gets the role on the platform, or the membership. */
export interface OidcClaimRule {
  readonly claim: string
  readonly value: string
  readonly role: 'admin' | null
  readonly enterprise: { readonly id: string; readonly role: 'owner' | 'admin' | 'finance' | 'employee' } | null
}

export interface MailConfig {
  /** Null: nothing is mailed. */
  readonly smtp: { readonly url: string; readonly from: string; readonly requireTls: boolean } | null
}

export interface MoneyConfig {
  /** ISO 4217. */
  readonly currency: string
  /** Owners and finance may credit the wallet of their enterprise. */
  readonly tenantTopup: boolean
  /** Prepaid enterprises may use models without a price. */
  readonly allowUnpriced: boolean
  /** Signs the calls of a payment service; null: none are taken. */
  readonly paymentSecret: string | null
}

export interface RedisConfig {
  /** Null: limits are kept in process. */
  readonly address: RedisAddress | null
  /** Prefix of the names of all keys and channels. */
  readonly keyPrefix: string
  /** The mode of limits while the authority is out of reach; null: `default`. */
  readonly degraded: {
    readonly default: DegradedMode
    readonly requestsPerMinute: DegradedMode | null
    readonly tokensPerMinute: DegradedMode | null
    readonly concurrency: DegradedMode | null
    readonly upstreamSlots: DegradedMode | null
  }
}

/** One server, the master that sentinels know, or a cluster. */
export type RedisAddress =
  | { readonly kind: 'single'; readonly url: string }
  | ({
      readonly kind: 'sentinel'
      readonly name: string
      readonly hosts: readonly RedisHost[]
      readonly sentinelPassword: string | null
    } & RedisLogin)
  | ({ readonly kind: 'cluster'; readonly hosts: readonly RedisHost[] } & RedisLogin)

export interface RedisHost {
  readonly host: string
  readonly port: number
}

export interface RedisLogin {
  readonly username: string | null
  readonly password: string | null
  readonly tls: boolean
}

export interface ManagementConfig {
  /** Address of a separate listener; port null: there is none. */
  readonly host: string
  readonly port: number | null
  /** Hosts, addresses and CIDR ranges outside the public Internet where upstreams made by admins may be. */
  readonly privateUpstreams: readonly string[]
}

export interface AlertsConfig {
  readonly checkIntervalMs: number
  /** Hosts, addresses and CIDR ranges outside the public Internet where webhooks may be. */
  readonly privateWebhooks: readonly string[]
  /** Days that the delivery log keeps. */
  readonly retentionDays: number
}

export interface CaptureConfig {
  readonly allowed: boolean
  /** Of one body. */
  readonly maxBodyBytes: number
  /** Per front process. */
  readonly bufferBytes: number
  /** Whether platform admins may read bodies. */
  readonly platformAdmins: boolean
}

export interface JournalConfig {
  readonly durability: 'os' | 'disk'
  readonly segmentMaxBytes: number
  readonly segmentMaxAgeMs: number
  /** Per front process; 0: none. */
  readonly reserveBytes: number
  readonly alertLagMs: number
}

export interface LogConfig {
  readonly level: 'debug' | 'info' | 'warn' | 'error' | 'silent'
  /** Absolute path; null: standard output. */
  readonly file: string | null
  /** Days that the request log keeps rows; 0: for ever. */
  readonly retentionDays: number
}

export interface MetricsConfig {
  readonly host: string
  /** Null: no separate listener. */
  readonly port: number | null
  /** Accepted instead of an admin's token; null: there is none. */
  readonly token: string | null
}

/** Per front process. */
export interface OverloadConfig {
  readonly loopDelayMs: number
  readonly minConcurrency: number
  /** Null: its share of the machine's memory. */
  readonly maxMemoryBytes: number | null
  readonly minFreeDiskBytes: number
}

export interface VideoConfig {
  readonly maxWaitMs: number
  readonly pollFirstMs: number
  readonly pollMaxMs: number
  readonly giveUpMs: number
  readonly paddingAfterMs: number
  readonly paddingEveryMs: number
  readonly linkMs: number
  readonly repeatMs: number
  readonly idempotencyMs: number
  readonly maxJobs: number
}
