import type { Stop } from './answer.ts'
import type { Citation } from './content.ts'
import type { WireDialect } from './conversation.ts'
import type { UpstreamFailure } from './dialect.ts'
import type { JsonObject } from './json-object.ts'
import type { Usage } from './usage.ts'

/**
 * A stream in the dialect-neutral form:
 *
 * ```
 * stream  = start block* ( end | error )  |  error
 * block   = text-start ( text-delta | citation )* text-end
 *         | thinking-start thinking-delta* thinking-signature? thinking-end
 *         | tool-start tool-delta* tool-end
 *         | native-start native-delta* native-end
 *         | redacted-thinking
 * ```
 *
 * Blocks never overlap: a decoder whose dialect lets them holds back the later one. Nothing follows `end` or `error`. Text of
 * deltas is never empty and never ends within a surrogate pair unless the upstream cut it there. The deltas of a call,
 * put together, are its input as text: empty means `{}`.
 */
export type StreamEvent =
  | StartEvent
  | { readonly type: 'text-start'; readonly refusal: boolean }
  | { readonly type: 'text-delta'; readonly text: string }
  | { readonly type: 'citation'; readonly citation: Citation }
  | { readonly type: 'text-end' }
  | { readonly type: 'thinking-start'; readonly format: string | null }
  | { readonly type: 'thinking-delta'; readonly text: string }
  | { readonly type: 'thinking-signature'; readonly text: string }
  | { readonly type: 'thinking-end' }
  | { readonly type: 'redacted-thinking'; readonly data: string; readonly format: string | null }
  | ToolStartEvent
  | { readonly type: 'tool-delta'; readonly text: string }
  | { readonly type: 'tool-end' }
  /** A block that only its own dialect can carry. */
  | { readonly type: 'native-start'; readonly kind: string; readonly value: JsonObject }
  | { readonly type: 'native-delta'; readonly value: JsonObject }
  | { readonly type: 'native-end' }
  /** The upstream is alive. */
  | { readonly type: 'ping' }
  | EndEvent
  /** The upstream failed, or its stream ended too early. */
  | { readonly type: 'error'; readonly failure: UpstreamFailure }

export interface StartEvent {
  readonly type: 'start'
  readonly from: WireDialect
  readonly id: string
  readonly model: string
  readonly created: number | null
  /** The usage that is known before the first token. */
  readonly usage: Usage | null
  readonly extra: JsonObject | null
}

export interface ToolStartEvent {
  readonly type: 'tool-start'
  readonly kind: 'function' | 'custom' | 'legacy'
  /** Empty when the provider gave none. */
  readonly id: string
  readonly name: string
  readonly signature: string | null
  readonly extra: JsonObject | null
}

export interface EndEvent {
  readonly type: 'end'
  readonly stop: Stop
  readonly usage: Usage | null
  readonly nativeUsage: JsonObject | null
  readonly extra: JsonObject | null
}
