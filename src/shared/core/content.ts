import type { JsonObject } from './json-object.ts'

// The functions below make blocks, so that those of one kind have one shape. Members without a field of their own are in `extra`,
// as they were on the wire: only a builder of the same dialect may write them, all others report them as dropped.

/** A mark that the prompt up to here is to be cached. */
export interface CacheMark {
  /** `5m`, `1h`; null: the provider's default. */
  readonly ttl: string | null
  readonly extra: JsonObject | null
}

export interface Citation {
  readonly url: string | null
  readonly title: string | null
  /** The passage that is cited. */
  readonly text: string | null
  /** The range of the answer's text that cites it, in UTF-16 units; null: the whole block. */
  readonly start: number | null
  readonly end: number | null
  /** The citation as its dialect writes it. */
  readonly native: JsonObject
}

export type MediaSource =
  /** `data` is base64. */
  | { readonly kind: 'base64'; readonly mediaType: string; readonly data: string }
  | { readonly kind: 'url'; readonly url: string }
  /** A file stored at the provider. */
  | { readonly kind: 'file'; readonly id: string }
  | { readonly kind: 'text'; readonly mediaType: string; readonly text: string }
  | { readonly kind: 'blocks'; readonly blocks: readonly Block[]; readonly plain: boolean }
  /** Only its own dialect knows it. */
  | { readonly kind: 'native'; readonly value: JsonObject }

export interface TextBlock {
  readonly type: 'text'
  readonly text: string
  readonly citations: readonly Citation[] | null
  readonly cache: CacheMark | null
  readonly extra: JsonObject | null
}

/** The text with which the model declines to answer. */
export interface RefusalBlock {
  readonly type: 'refusal'
  readonly text: string
  readonly extra: JsonObject | null
}

export interface ImageBlock {
  readonly type: 'image'
  readonly source: MediaSource
  /** The resolution at which the model sees it: `low`, `high`, `auto`. */
  readonly detail: string | null
  readonly cache: CacheMark | null
  readonly extra: JsonObject | null
}

export interface DocumentBlock {
  readonly type: 'document'
  readonly source: MediaSource
  /** A title or a file name. */
  readonly title: string | null
  readonly context: string | null
  /** Whether the answer is to cite it; null: not set. */
  readonly citations: boolean | null
  readonly cache: CacheMark | null
  readonly extra: JsonObject | null
}

export interface AudioBlock {
  readonly type: 'audio'
  /** Base64. */
  readonly data: string
  /** `wav`, `mp3`, … */
  readonly format: string
  readonly extra: JsonObject | null
}

/** A passage that the client's search has found and the answer may cite. */
export interface SearchResultBlock {
  readonly type: 'search-result'
  readonly source: string
  readonly title: string
  readonly content: readonly Block[]
  readonly citations: boolean | null
  readonly cache: CacheMark | null
  readonly extra: JsonObject | null
}

/** `custom`: its input is free text; `legacy`: a function of the API before tools, without ids. */
export type ToolKind = 'function' | 'custom' | 'legacy'

export interface ToolCallBlock {
  readonly type: 'tool-call'
  readonly kind: ToolKind
  /** Empty when the provider gave none. */
  readonly id: string
  readonly name: string
  /** Text as it was written (JSON for functions, perhaps invalid), or a value; see `tool-input.ts` of the dialects. */
  readonly input: unknown
  /** The thought signature that the provider needs back with the call; mostly null. */
  readonly signature: string | null
  readonly cache: CacheMark | null
  readonly extra: JsonObject | null
}

export interface ToolResultBlock {
  readonly type: 'tool-result'
  readonly kind: ToolKind
  readonly callId: string
  /** The tool's name where the dialect has it; null: look it up by `callId`. */
  readonly name: string | null
  readonly content: readonly Block[]
  /** On the wire it was a string, not a list of blocks. */
  readonly plain: boolean
  readonly isError: boolean
  readonly cache: CacheMark | null
  readonly extra: JsonObject | null
}

export interface ThinkingBlock {
  readonly type: 'thinking'
  readonly text: string
  /** The provider checks with it that the text is unchanged, byte for byte; null: there is none. */
  readonly signature: string | null
  /** The dialect's name for it, where it has several. */
  readonly format: string | null
  readonly extra: JsonObject | null
}

/** Thinking that only its provider can read. */
export interface RedactedThinkingBlock {
  readonly type: 'redacted-thinking'
  readonly data: string
  readonly format: string | null
  readonly extra: JsonObject | null
}

/** The name of a tool that a search for tools has found. */
export interface ToolReferenceBlock {
  readonly type: 'tool-reference'
  readonly name: string
  readonly extra: JsonObject | null
}

/** A block that only its own dialect can carry: calls and results of hosted tools, parts of one vendor. */
export interface NativeBlock {
  readonly type: 'native'
  /** Its `type` on the wire. */
  readonly kind: string
  readonly value: JsonObject
}

export type Block =
  | TextBlock
  | RefusalBlock
  | ImageBlock
  | DocumentBlock
  | AudioBlock
  | SearchResultBlock
  | ToolCallBlock
  | ToolResultBlock
  | ThinkingBlock
  | RedactedThinkingBlock
  | ToolReferenceBlock
  | NativeBlock

export function textBlock(text: string, cache: CacheMark | null = null, extra: JsonObject | null = null): TextBlock {
  return { type: 'text', text, citations: null, cache, extra }
}

export function refusalBlock(text: string, extra: JsonObject | null = null): RefusalBlock {
  return { type: 'refusal', text, extra }
}

export function imageBlock(
  source: MediaSource,
  rest: { detail?: string | null; cache?: CacheMark | null; extra?: JsonObject | null } = {},
): ImageBlock {
  return { type: 'image', source, detail: rest.detail ?? null, cache: rest.cache ?? null, extra: rest.extra ?? null }
}

export function toolCallBlock(
  call: Pick<ToolCallBlock, 'id' | 'name' | 'input'> & Partial<ToolCallBlock>,
): ToolCallBlock {
  return {
    type: 'tool-call',
    kind: call.kind ?? 'function',
    id: call.id,
    name: call.name,
    input: call.input,
    signature: call.signature ?? null,
    cache: call.cache ?? null,
    extra: call.extra ?? null,
  }
}

export function toolResultBlock(
  result: Pick<ToolResultBlock, 'callId' | 'content'> & Partial<ToolResultBlock>,
): ToolResultBlock {
  return {
    type: 'tool-result',
    kind: result.kind ?? 'function',
    callId: result.callId,
    name: result.name ?? null,
    content: result.content,
    plain: result.plain ?? false,
    isError: result.isError ?? false,
    cache: result.cache ?? null,
    extra: result.extra ?? null,
  }
}

export function thinkingBlock(
  text: string,
  signature: string | null = null,
  format: string | null = null,
  extra: JsonObject | null = null,
): ThinkingBlock {
  return { type: 'thinking', text, signature, format, extra }
}

export function nativeBlock(kind: string, value: JsonObject): NativeBlock {
  return { type: 'native', kind, value }
}
