import type { ErrorCode } from './errors.ts'

/** The path of tool calls, for the control process alone. */
export const TOOL_CALL_PATH = '/inner/tool-calls'

/** The header with the order; the body has the arguments. */
export const TOOL_CALL_HEADER = 'sluice-tool-call'

/** Stands in the head of the front's answer when the result is captured. */
export const CAPTURES_RESULT_HEADER = 'sluice-captures-result'

/** Longest time of a call, once it has begun. The `timeout_ms` of upstream servers has the same bound. */
export const MAX_CALL_MS = 3_600_000

/** A call of a tool at an upstream server: a front admits, reserves and records it, the control process makes it. */
export interface ToolCallOrder {
  /** The name under which clients know the tool. */
  readonly tool: string
  readonly serverId: string
  /** Its name at the server. */
  readonly serverTool: string
  readonly priceMicro: number
}

/** The end of such a call. */
export interface ToolCallReport {
  /** Null: the tool succeeded. */
  readonly error: { readonly code: ErrorCode; readonly message: string } | null
  /** Null: no result came, and the call costs nothing. */
  readonly resultBytes: number | null
  /** The result, where it is captured. */
  readonly result: string | null
}

/** The use of a call, for its row in the request log. */
export interface ToolCallUse {
  readonly costMicro: number
  readonly argumentBytes: number
  readonly resultBytes: number | null
}
