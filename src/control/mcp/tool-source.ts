import type { ErrorBody } from '../../shared/api/error.ts'
import type { McpCaller } from './callers.ts'

export type ApiError = ErrorBody['error']
export type Json = Readonly<Record<string, unknown>>

/** A JSON schema of objects. */
export interface ObjectSchema {
  readonly type: 'object'
  readonly properties?: Json
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean
}

/** A tool, as `tools/list` shows it. */
export interface Tool {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly inputSchema: ObjectSchema
  readonly outputSchema?: ObjectSchema
  readonly annotations: {
    readonly title: string
    readonly readOnlyHint: boolean
    readonly destructiveHint: boolean
    readonly idempotentHint: boolean
    readonly openWorldHint: boolean
  }
}

/** A piece of a result, as the protocol has it. */
export type Content = { readonly type: 'text'; readonly text: string } | ({ readonly type: string } & Json)

/** One call of a tool. */
export interface ToolCall {
  readonly caller: McpCaller
  readonly name: string
  readonly input: Json
  /** Aborted when the client cancels the call, and when its session ends. */
  readonly signal: AbortSignal
  /** Tells the client how far the call is; null when the client does not want to know. `done` rises. */
  readonly progress: ((done: number, message: string, total?: number) => void) | null
  /** Absent: it can be asked nothing. */
  readonly client?: ToolClient
}

/** Questions to the client of a call; null: it cannot be asked. The answers are in the form of the protocol. */
export interface ToolClient {
  readonly elicit: ((params: Json, signal: AbortSignal) => Promise<Json>) | null
  readonly sample: ((params: Json, signal: AbortSignal) => Promise<Json>) | null
  /** Asks the user to open an address. Resolves to false when the user does not want to. */
  readonly open:
    ((page: { readonly url: string; readonly message: string }, signal: AbortSignal) => Promise<boolean>) | null
}

export type ToolOutcome =
  | {
      readonly isError: false
      readonly content: readonly Content[]
      readonly structured: Json | null
      /** The tool ran and says itself that it failed. */
      readonly hasFailed?: true
    }
  | { readonly isError: true; readonly status: number; readonly error: ApiError }

/** A place where tools come from. Names are unique over all sources. */
export interface ToolSource {
  /** The server that a tool belongs to, as chats name it. Default: `OWN_SERVER` for all. */
  serverOf?(name: string): string
  /** The tools that the caller may use, in a stable order. */
  list(caller: McpCaller): Promise<readonly Tool[]>
  /**
   * Whether a call of the tool is for this source, where it is not for all that `list` shows: a call of a tool that is held back gets its
   * reason from `call`.
   */
  has?(caller: McpCaller, name: string): Promise<boolean>
  /** Calls a tool that `list` shows to the caller. */
  call(call: ToolCall): Promise<ToolOutcome>
}

/** The outcome of a tool whose result is one JSON object. */
export function structuredOutcome(value: Json): ToolOutcome {
  return { isError: false, content: [{ type: 'text', text: JSON.stringify(value) }], structured: value }
}

export function failedOutcome(status: number, error: ApiError): ToolOutcome {
  return { isError: true, status, error }
}
