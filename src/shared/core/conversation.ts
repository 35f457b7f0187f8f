import type { Block, CacheMark } from './content.ts'
import type { DialectName, UpstreamDialectName } from './endpoint.ts'
import type { JsonObject } from './json-object.ts'

/** The dialects that are translated into each other. */
export type WireDialect = DialectName | UpstreamDialectName

export type Role = 'system' | 'developer' | 'user' | 'assistant' | 'tool'

export interface Message {
  readonly role: Role
  readonly content: readonly Block[]
  /** On the wire the content was a string, not a list. */
  readonly plain: boolean
  /** Tells participants of one role apart. */
  readonly name: string | null
  readonly extra: JsonObject | null
}

export interface FunctionTool {
  readonly type: 'function'
  readonly name: string
  readonly description: string | null
  /** JSON Schema; null: it takes no parameters. */
  readonly parameters: JsonObject | null
  readonly strict: boolean | null
  /** Declared in `functions`, the API before tools. */
  readonly legacy: boolean
  readonly cache: CacheMark | null
  readonly extra: JsonObject | null
}

/** A tool whose input is free text. */
export interface CustomTool {
  readonly type: 'custom'
  readonly name: string
  readonly description: string | null
  /** The grammar of its input. */
  readonly format: JsonObject | null
  readonly extra: JsonObject | null
}

/** A tool of the provider. */
export interface NativeTool {
  readonly type: 'native'
  readonly kind: string
  /** The name by which a tool choice selects it; null: it cannot be selected. */
  readonly name: string | null
  readonly value: JsonObject
}

export type Tool = FunctionTool | CustomTool | NativeTool

export type ToolChoice =
  | { readonly type: 'auto' | 'none' | 'required' }
  /** `hosted`: a tool of the provider, by its kind. */
  | { readonly type: 'tool'; readonly name: string; readonly kind: 'function' | 'custom' | 'legacy' | 'hosted' }
  /** Only these; one of them must be called when `required`. */
  | {
      readonly type: 'allowed'
      readonly required: boolean
      readonly names: readonly string[]
      readonly native: JsonObject
    }

export interface Sampling {
  readonly temperature: number | null
  readonly topP: number | null
  readonly topK: number | null
  readonly seed: number | null
  readonly presencePenalty: number | null
  readonly frequencyPenalty: number | null
  readonly logprobs: boolean | null
  readonly topLogprobs: number | null
}

export interface Reasoning {
  /** Null: only an effort or a budget is given. */
  readonly mode: 'disabled' | 'enabled' | 'adaptive' | null
  /** none, minimal, low, medium, high, xhigh, max. */
  readonly effort: string | null
  readonly budgetTokens: number | null
  /** How the thinking is to be shown (`summarized`, `omitted`). */
  readonly display: string | null
}

export type OutputFormat =
  | { readonly type: 'text' | 'json' }
  | {
      readonly type: 'schema'
      readonly name: string | null
      readonly description: string | null
      readonly schema: JsonObject
      readonly strict: boolean | null
    }

/**
 * A request in the dialect-neutral form. Null and empty mean that the client did not set the field; so does a null on the
 * wire. It does not change after it is parsed: it may be built for several upstreams in turn.
 */
export interface Conversation {
  readonly from: WireDialect
  readonly model: string
  /** Instructions before the conversation; later ones are among the messages. */
  readonly system: readonly Message[]
  readonly messages: readonly Message[]
  readonly tools: readonly Tool[]
  readonly toolChoice: ToolChoice | null
  /** False: at most one call in an answer. */
  readonly parallelToolCalls: boolean | null
  /** Reasoning included. */
  readonly maxTokens: number | null
  /** The number of answers. */
  readonly choices: number | null
  readonly sampling: Sampling
  readonly stop: readonly string[]
  readonly stream: boolean
  /** The client wants usage in its stream. */
  readonly wantsUsage: boolean
  readonly reasoning: Reasoning | null
  readonly format: OutputFormat | null
  /** The end user, as an opaque name. */
  readonly user: string | null
  readonly metadata: JsonObject | null
  readonly serviceTier: string | null
  /** Marks the last block that can be cached. */
  readonly cache: CacheMark | null
  /** Top-level fields beyond these, as they were on the wire. */
  readonly extra: JsonObject | null
}
