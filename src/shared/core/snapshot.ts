import type { AuthStyle } from './auth-style.ts'
import type { BudgetLimit, MonthlyBudget } from './budget.ts'
import type { TargetQuirks } from './codec.ts'
import type { UpstreamDialectName } from './endpoint.ts'
import type { ModelFacts } from './model-facts.ts'
import type { Services } from './service.ts'

export type { AuthStyle }

/** Per-minute and at-a-time limits; null means the configured default, or none where there is no default. */
export interface KeyLimits {
  readonly requestsPerMinute: number | null
  readonly tokensPerMinute: number | null
  readonly concurrency: number | null
}

export const NO_LIMITS: KeyLimits = { requestsPerMinute: null, tokensPerMinute: null, concurrency: null }

/** An entry API key as the data plane sees it. The secret itself is nowhere; `digest` is its HMAC-SHA-256 in hex. */
export interface EntryKey {
  readonly id: string
  readonly digest: string
  readonly masked: string
  readonly name: string
  readonly enabled: boolean
  /** Unix milliseconds. */
  readonly expiresAtMs: number | null
  readonly userId: string | null
  readonly enterpriseId: string | null
  readonly departmentId: string | null
  readonly memberId: string | null
  readonly limits: KeyLimits
  /** Of all keys of its user, and of its enterprise, together. */
  readonly userLimits: KeyLimits
  readonly enterpriseLimits: KeyLimits
  /** Model ids this key may use; null: all. */
  readonly models: readonly string[] | null
  /** Addresses and CIDR ranges it may be used from; null: all. */
  readonly addresses: readonly string[] | null
  /** Prefixes of the User-Agent it may be used by; null: all. */
  readonly clients: readonly string[] | null
  /** Its own; absent: none. */
  readonly budget?: MonthlyBudget
  /** All that it is under, its own among them; absent: none. */
  readonly budgets?: readonly BudgetLimit[]
  /** IANA name of the calendar that its budgets follow; absent: UTC. */
  readonly timeZone?: string
}

/** A host that speaks one dialect, as data. */
export interface Provider {
  readonly id: string
  readonly name: string
  readonly dialect: UpstreamDialectName
  /** Origin and path prefix, without a trailing slash, e.g. `https://api.openai.com/v1`. */
  readonly baseUrl: string
  /** Of Azure: the version that calls name, in paths of their own kind; absent: calls name none. */
  readonly apiVersion?: string
  readonly auth: AuthStyle
  /** Sent with each request, lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  readonly keys: readonly UpstreamKey[]
  readonly timeouts: UpstreamTimeouts
  /** What it takes otherwise than its dialect's own service. */
  readonly target?: TargetQuirks
  /** The known provider that it is; absent: none. */
  readonly profile?: string
  /** What it serves besides conversations, and how; absent: nothing. */
  readonly services?: Services
  /** False: no conversations. They are served when absent. */
  readonly converses?: boolean
  /** Its address is not the operator's own, see `UpstreamReach`; absent: it is. */
  readonly publicOnly?: boolean
  /** The provider goes on billing when we hang up: drain within a bound instead of aborting. */
  readonly billsAfterDisconnect: boolean
}

export interface UpstreamTimeouts {
  readonly connectMs: number
  readonly firstByteMs: number
  readonly idleMs: number
  readonly totalMs: number
}

export interface UpstreamKey {
  readonly id: string
  readonly name: string
  readonly credential: string
  readonly enabled: boolean
  readonly weight: number
  /** Requests at the same time. */
  readonly maxConcurrency: number
  /** Lower is used first; added to that of the target. 0 by default. */
  readonly priority?: number
}

/** A model id clients may ask for, and who serves it. */
export interface Model {
  readonly id: string
  readonly created: number
  readonly ownedBy: string
  readonly targets: readonly ModelTarget[]
}

export interface ModelTarget {
  readonly providerId: string
  /** The model's name at that provider. */
  readonly upstreamModel: string
  readonly weight: number
  /** Lower is used first. 0 by default. */
  readonly priority?: number
}

/** The immutable configuration that every phase reads; a new one replaces it whole. */
export interface Snapshot {
  readonly version: number
  readonly keys: readonly EntryKey[]
  readonly providers: readonly Provider[]
  readonly models: readonly Model[]
  /** What is known of models by their names at providers. */
  readonly facts?: readonly ModelFacts[]
}
