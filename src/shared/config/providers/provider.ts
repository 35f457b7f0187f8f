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
  /** Null: every customer has one of their own, which must be given. */
  readonly baseUrl: string | null
  /** Appended to another address when it lacks it: this provider's own libraries leave it out. */
  readonly basePath?: string
  /** Current ids for the model list, then patterns for all others. */
  readonly models: readonly ProviderModel[]
  /** What it takes otherwise than its dialect's own service. */
  readonly quirks?: TargetQuirks
  /** Calls may name a version, that of `<prefix>_API_VERSION`. */
  readonly apiVersions?: true
  /** What it serves besides conversations; absent: nothing, or what hosts of its dialect serve where that is not openai-chat. */
  readonly services?: Services
  /** False: it holds no conversations. */
  readonly converses?: false
  /** Runs where its users run it: an address is enough, it needs no credential. */
  readonly selfHosted?: true
}

/** An id, or what clients ask for and what it is called there. */
export type ProviderModel = string | { readonly id: string; readonly upstreamModel: string }

/** Whose protocol it is: takes all of it. */
export const chat = { dialect: 'openai-chat', auth: 'bearer' } as const

export const messages = { dialect: 'anthropic-messages', auth: 'x-api-key' } as const

/** What servers that speak the chat protocol have in common, unless theirs says otherwise. */
export const COMPATIBLE = {
  maxTokensField: 'max_tokens',
  takesDeveloperRole: false,
  takesCustomTools: false,
} as const satisfies TargetQuirks

/** A server that speaks the chat protocol, with `quirks` of its own. */
export function compatible(quirks: TargetQuirks = {}): typeof chat & { readonly quirks: TargetQuirks } {
  return { ...chat, quirks: { ...COMPATIBLE, ...quirks } }
}

/** All models under the provider's name, for hosts whose ids others use as well: `together/Qwen/Qwen3-32B`. */
export function under(id: string): ProviderModel {
  return { id: `${id}/*`, upstreamModel: '*' }
}
