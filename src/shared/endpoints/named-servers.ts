import { Type } from 'typebox'
import { nullable } from '../api/nullable.ts'
import { GatewayError } from '../core/errors.ts'
import { fieldName } from '../core/field-error.ts'

/** Tools that fit all that it says; null: any. */
export interface ToolFilter {
  readonly toolNames: readonly string[] | null
  readonly readOnly: boolean | null
}

/** The calls that the client wants to approve before they are made. */
export interface ApprovalRule {
  readonly byDefault: boolean
  readonly always: ToolFilter | null
  readonly never: ToolFilter | null
}

export const NO_APPROVAL: ApprovalRule = { byDefault: false, always: null, never: null }

/** A tool server of the gateway that a request names among its tools. */
export interface NamedServer {
  readonly label: string
  /** Null: all that the key may use. */
  readonly allowedTools: readonly string[] | null
  /** Those of the allowed ones that are left out. */
  readonly deniedTools: readonly string[]
  readonly readOnly: boolean
  readonly approval: ApprovalRule
  /** JSON pointers of the members that name the server and its tools. */
  readonly places: { readonly label: string; readonly tools: string; readonly approval: string }
}

/** Members of a tool of type `mcp`, as in https://platform.openai.com/docs/api-reference/responses/create. */
export const MCP_TOOL_MEMBERS = {
  server_label: Type.Optional(
    Type.String({ description: 'Type mcp: a tool server of the gateway. sluice: its own tools.', maxLength: 64 }),
  ),
  allowed_tools: Type.Optional(
    Type.Unsafe<readonly string[] | { tool_names?: readonly string[]; read_only?: boolean } | null>({
      type: ['array', 'object', 'null'],
      items: { type: 'string' },
      description: 'Type mcp: names of tools, or {tool_names, read_only}. Default: all that the key may use.',
    }),
  ),
  require_approval: Type.Optional(
    Type.Unsafe<string | object | null>({
      type: ['string', 'object', 'null'],
      description:
        'Type mcp: never, which is the default: the gateway calls the tools at once. Responses may also have always, or {always, never} with {tool_names, read_only}.',
    }),
  ),
  server_url: Type.Optional(
    nullable(
      Type.String({
        description: 'Type mcp: must not be sent. No upstream of Sluice connects to tool servers itself.',
      }),
    ),
  ),
} as const

interface RequestTool {
  readonly type?: string | null | undefined
}

/**
 * Whether the request asks for tools of servers of the gateway.
 * @param mayAsk the protocol has items for approvals. Throws INVALID_FIELD or UNSUPPORTED_FIELD. */
export function namesServers(tools: readonly RequestTool[] | null | undefined, mayAsk: boolean): boolean {
  if (tools === null || tools === undefined) return false
  for (const { type } of tools) if (type === 'mcp') return serversOf(tools, mayAsk).length > 0
  return false
}

/** The servers that a request names, in order. Throws INVALID_FIELD or UNSUPPORTED_FIELD. */
export function serversOf(tools: readonly RequestTool[], mayAsk: boolean): NamedServer[] {
  const servers: NamedServer[] = []
  for (const [index, tool] of tools.entries()) {
    if (tool.type !== 'mcp') continue
    const server = serverOf(tool as Readonly<Record<string, unknown>>, `/tools/${index}`, mayAsk)
    if (servers.some(({ label }) => label === server.label)) {
      throw invalid(server.places.label, 'names a server that another tool names')
    }
    servers.push(server)
  }
  return servers
}

function serverOf(tool: Readonly<Record<string, unknown>>, place: string, mayAsk: boolean): NamedServer {
  for (const name of ['server_url', 'connector_id', 'tunnel_id'] as const) {
    if (tool[name] === undefined || tool[name] === null) continue
    throw unsupported(
      `${place}/${name}`,
      'no upstream of this model connects to tool servers itself; name a server of the gateway by server_label alone',
    )
  }
  const { server_label: label, require_approval: approval } = tool
  if (typeof label !== 'string' || label === '') throw invalid(`${place}/server_label`, 'is required')
  const places = {
    label: `${place}/server_label`,
    tools: `${place}/allowed_tools`,
    approval: `${place}/require_approval`,
  }
  const rule = approvalOf(approval, places.approval)
  if (!mayAsk && rule !== NO_APPROVAL) {
    throw unsupported(places.approval, 'chat completions have no items for approvals; send never, or use /v1/responses')
  }
  return { label, ...allowedOf(tool['allowed_tools'], places.tools), deniedTools: [], approval: rule, places }
}

function approvalOf(approval: unknown, place: string): ApprovalRule {
  if (approval === undefined || approval === null || approval === 'never') return NO_APPROVAL
  if (approval === 'always') return { byDefault: true, always: null, never: null }
  if (typeof approval !== 'object' || Array.isArray(approval)) {
    throw invalid(place, 'must be always, never, or an object with always and never')
  }
  const { always, never, ...rest } = approval as Readonly<Record<string, unknown>>
  const [unknown] = Object.keys(rest)
  if (unknown !== undefined) throw invalid(place, 'must have no members but always and never')
  return {
    byDefault: false,
    always: filterOf(always, `${place}/always`),
    never: filterOf(never, `${place}/never`),
  }
}

function filterOf(filter: unknown, place: string): ToolFilter | null {
  if (filter === undefined || filter === null) return null
  if (typeof filter !== 'object' || Array.isArray(filter)) throw invalid(place, 'must be an object')
  const { tool_names: names, read_only: readOnly } = filter as Readonly<Record<string, unknown>>
  if (names !== undefined && names !== null && !isTexts(names)) {
    throw invalid(`${place}/tool_names`, 'must be a list of names')
  }
  if (readOnly !== undefined && readOnly !== null && typeof readOnly !== 'boolean') {
    throw invalid(`${place}/read_only`, 'must be true or false')
  }
  return { toolNames: names ?? null, readOnly: readOnly ?? null }
}

function allowedOf(allowed: unknown, place: string): Pick<NamedServer, 'allowedTools' | 'readOnly'> {
  if (allowed === undefined || allowed === null) return { allowedTools: null, readOnly: false }
  const isList = Array.isArray(allowed)
  const { tool_names: names, read_only: readOnly } = (isList ? { tool_names: allowed } : allowed) as {
    readonly tool_names?: unknown
    readonly read_only?: unknown
  }
  if (names !== undefined && names !== null && !isTexts(names)) {
    throw invalid(isList ? place : `${place}/tool_names`, 'must be a list of names')
  }
  return { allowedTools: names ?? null, readOnly: readOnly === true }
}

export function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string')
}

/** @param why ends the sentence that begins with the name of the field */
export function invalid(param: string, why: string): GatewayError {
  return new GatewayError('INVALID_FIELD', { param, message: `${fieldName(param)} ${why}.` })
}

/** @param why the reason, and what to send */
export function unsupported(param: string, why: string): GatewayError {
  return new GatewayError('UNSUPPORTED_FIELD', { param, message: `${fieldName(param)} cannot be used: ${why}.` })
}
