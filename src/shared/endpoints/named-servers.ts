import { Type } from 'typebox'
import { nullable } from '../api/nullable.ts'
import { GatewayError } from '../core/errors.ts'
import { fieldName } from '../core/field-error.ts'

/** A tool server of the gateway that a request names among its tools. */
export interface NamedServer {
  readonly label: string
  /** Null: all that the key may use. */
  readonly allowedTools: readonly string[] | null
  readonly readOnly: boolean
  /** JSON pointer of the tool. */
  readonly place: string
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
      description: 'Type mcp: only never, which is the default: the gateway calls the tools at once.',
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

/** Whether the request asks for tools of servers of the gateway. Throws INVALID_FIELD or UNSUPPORTED_FIELD. */
export function namesServers(tools: readonly RequestTool[] | null | undefined): boolean {
  if (tools === null || tools === undefined) return false
  for (const { type } of tools) if (type === 'mcp') return serversOf(tools).length > 0
  return false
}

/** The servers that a request names, in order. Throws INVALID_FIELD or UNSUPPORTED_FIELD. */
export function serversOf(tools: readonly RequestTool[]): NamedServer[] {
  const servers: NamedServer[] = []
  for (const [index, tool] of tools.entries()) {
    if (tool.type !== 'mcp') continue
    const server = serverOf(tool as Readonly<Record<string, unknown>>, `/tools/${index}`)
    if (servers.some(({ label }) => label === server.label)) {
      throw invalid(`${server.place}/server_label`, 'names a server that another tool names')
    }
    servers.push(server)
  }
  return servers
}

function serverOf(tool: Readonly<Record<string, unknown>>, place: string): NamedServer {
  for (const name of ['server_url', 'connector_id'] as const) {
    if (tool[name] === undefined || tool[name] === null) continue
    throw unsupported(
      `${place}/${name}`,
      'no upstream of this model connects to tool servers itself; name a server of the gateway by server_label alone',
    )
  }
  const { server_label: label, require_approval: approval } = tool
  if (typeof label !== 'string' || label === '') throw invalid(`${place}/server_label`, 'is required')
  if (approval !== undefined && approval !== null && approval !== 'never') {
    throw unsupported(`${place}/require_approval`, 'the gateway calls tools at once; send never')
  }
  return { label, ...allowedOf(tool['allowed_tools'], `${place}/allowed_tools`), place }
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

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string')
}

function invalid(param: string, why: string): GatewayError {
  return new GatewayError('INVALID_FIELD', { param, message: `${fieldName(param)} ${why}.` })
}

function unsupported(param: string, why: string): GatewayError {
  return new GatewayError('UNSUPPORTED_FIELD', { param, message: `${fieldName(param)} cannot be used: ${why}.` })
}
