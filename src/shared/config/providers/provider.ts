import type { TargetQuirks } from '../../core/codec.ts'
import type { UpstreamDialectName } from '../../core/endpoint.ts'
import type { Services } from '../../core/service.ts'
import type { AuthStyle } from '../../core/snapshot.ts'

/** A host that is known by name: `provider: groq` in the file, or a credential in the environment, is enough to use it. */
export interface KnownProvider {
  readonly id: string
  readonly name: string
  /** `<prefix>_API_KEY` holds the credential (several: separated by commas), `<prefix>_BASE_URL` another address. */
  readonly prefix: string
  readonly dialect: UpstreamDialectName
  readonly auth: AuthStyle
  /** Null: each customer has another address, which must be configured. */
  readonly baseUrl: string | null
  /** Appended to a configured address that lacks it: this provider's own libraries leave it out. */
  readonly basePath?: string
  /** Current ids for the model list, then patterns for all others. */
  readonly models: readonly ProviderModel[]
  /** Deviations from its dialect's own service. */
  readonly quirks?: TargetQuirks
  /** Calls may name an API version, the value of `<prefix>_API_VERSION`. */
  readonly apiVersions?: true
  /** Services besides conversations; absent: the default services of its dialect, and none for openai-chat. */
  readonly services?: Services
  /** False: it serves no conversations. */
  readonly converses?: false
  /** Its users run it themselves: it needs an address, and no credential. */
  readonly selfHosted?: true
}

/** An id, or the id for clients with the name at the provider. */
export type ProviderModel = string | { readonly id: string; readonly upstreamModel: string }

/** A server that takes the whole chat protocol. */
export const chat = { dialect: 'openai-chat', auth: 'bearer' } as const

export const messages = { dialect: 'anthropic-messages', auth: 'x-api-key' } as const

/** Quirks of most servers that speak the chat protocol. */
export const COMPATIBLE = {
  maxTokensField: 'max_tokens',
  takesDeveloperRole: false,
  takesCustomTools: false,
} as const satisfies TargetQuirks

/** A server that speaks the chat protocol, with `quirks` of its own. */
export function compatible(quirks: TargetQuirks = {}): typeof chat & { readonly quirks: TargetQuirks } {
  return { ...chat, quirks: { ...COMPATIBLE, ...quirks } }
}

/** All models under the provider's name, for hosts whose model ids other hosts use too: `together/Qwen/Qwen3-32B`. */
export function under(id: string): ProviderModel {
  return { id: `${id}/*`, upstreamModel: '*' }
}
