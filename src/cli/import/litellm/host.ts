import type { DraftUpstream } from '../draft.ts'

/** Members of `litellm_params`. */
export type Params = Readonly<Record<string, unknown>>

/** The host of a deployment, without keys and models. */
export type Host = Omit<DraftUpstream, 'id' | 'keys' | 'models'>

/** The place that a deployment calls. */
export interface Target {
  readonly host: Host
  /** Null: the host takes none. */
  readonly credential: string | null
  readonly upstreamModel: string
  /** The text from which the id of the upstream is made. */
  readonly label: string
  /** Parameters that this target has taken. */
  readonly taken: readonly string[]
  /** The parameters that Sluice has under another setting, with that setting. */
  readonly changed?: Readonly<Record<string, string>>
}

export interface NoTarget {
  readonly reason: string
}
