import type { HealthCheckSettings } from './health-check.ts'
import type { AuthStyle } from './auth-style.ts'
import type { BudgetLimit, ModelBudget, ModelBudgetLimit, MonthlyBudget } from './budget.ts'
import type { CaptureRule } from './capture.ts'
import type { TargetQuirks } from './codec.ts'
import type { UpstreamDialectName } from './endpoint.ts'
import type { HolderLimits, KeyLimits } from './key-limits.ts'
import type { ModelFacts } from './model-facts.ts'
import type { CatalogueNames } from './model-names.ts'
import type { Services } from './service.ts'

export { NO_LIMITS } from './key-limits.ts'
export type { AuthStyle, KeyLimits }

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
  /** Limits over all keys of its user, and of its enterprise. */
  readonly userLimits: KeyLimits
  readonly enterpriseLimits: KeyLimits
  /** Limits of its member, its department and all departments above; absent: none. */
  readonly holderLimits?: readonly HolderLimits[]
  /** Model ids this key may use; null: all. */
  readonly models: readonly string[] | null
  /** Addresses and CIDR ranges it may be used from; null: all. */
  readonly addresses: readonly string[] | null
  /** Prefixes of the User-Agent it may be used by; null: all. */
  readonly clients: readonly string[] | null
  /** Tools that it may use at /mcp: names, or prefixes that end in `*`; absent: none. */
  readonly tools?: readonly string[] | null
  /** Budget of the key itself; absent: none. */
  readonly budget?: MonthlyBudget
  /** Its own budgets for some models; only for its creation. */
  readonly ownModelBudgets?: readonly ModelBudget[]
  /** All budgets that apply to it, its own included; absent: none. */
  readonly budgets?: readonly BudgetLimit[]
  /** All budgets for some models that apply to it; absent: none. */
  readonly modelBudgets?: readonly ModelBudgetLimit[]
  /** IANA name of the calendar that its budgets follow; absent: UTC. */
  readonly timeZone?: string
  /** Bodies of its requests are kept; absent: none are. */
  readonly capture?: CaptureRule
}

/** A host that speaks one dialect, as data. */
export interface Provider {
  readonly id: string
  readonly name: string
  readonly dialect: UpstreamDialectName
  /** Origin and path prefix, without a trailing slash, e.g. `https://api.openai.com/v1`. */
  readonly baseUrl: string
  /** Azure only: the API version that calls name, in the paths of Azure; absent: none. */
  readonly apiVersion?: string
  readonly auth: AuthStyle
  /** Headers of each request, with lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  readonly keys: readonly UpstreamKey[]
  readonly timeouts: UpstreamTimeouts
  /** Deviations from its dialect's own service. */
  readonly target?: TargetQuirks
  /** The id of the known provider; absent: none. */
  readonly profile?: string
  /** Services besides conversations; absent: none. */
  readonly services?: Services
  /** False: it serves no conversations. Absent: true. */
  readonly converses?: boolean
  /** The operator did not give its address, so that `UpstreamReach` limits it; absent: the operator did. */
  readonly publicOnly?: boolean
  /** Absent: its keys are not checked. */
  readonly healthCheck?: HealthCheckSettings
  /** The provider bills the whole answer after a disconnect: read on within a bound instead of aborting. */
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

/** A model id that clients may ask for, and the providers that serve it. */
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
  /** Facts about models, by their names at providers. */
  readonly facts?: readonly ModelFacts[]
  /** Aliases and groups of models; absent: none. */
  readonly names?: CatalogueNames
}
