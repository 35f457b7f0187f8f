import { Type } from 'typebox'
import { nullable } from '../api/nullable.ts'
import { invalid, isTexts, NO_APPROVAL, unsupported } from './named-servers.ts'
import type { NamedServer } from './named-servers.ts'

/**
 * `mcp_servers` of a messages request: https://platform.claude.com/docs/en/agents-and-tools/mcp-connector. `tool_configuration` is from its
 * version mcp-client-2025-04-04, which has no toolsets.
 */
export const MCP_SERVERS = Type.Optional(
  nullable(
    Type.Array(
      Type.Object({
        type: Type.Optional(nullable(Type.String({ description: 'Only url.' }))),
        name: Type.Optional(
          Type.String({ description: 'A tool server of the gateway. sluice: its own tools.', maxLength: 64 }),
        ),
        url: Type.Optional(
          nullable(
            Type.String({
              description:
                'Empty or left out for a server of the gateway. Else the upstream connects to it, if it can: all entries then have an address.',
            }),
          ),
        ),
        authorization_token: Type.Optional(
          nullable(Type.String({ description: 'Only for servers that the upstream connects to.' })),
        ),
        tool_configuration: Type.Optional(
          nullable(
            Type.Object(
              { enabled: Type.Optional(nullable(Type.Boolean())), allowed_tools: Type.Optional(Type.Unknown()) },
              { description: 'Only where no mcp_toolset is among the tools: {enabled, allowed_tools}.' },
            ),
          ),
        ),
      }),
      { description: 'Tool servers of the gateway, whose tools the gateway calls.' },
    ),
  ),
)

/** Members of a tool of type `mcp_toolset`. */
export const MCP_TOOLSET_MEMBERS = {
  mcp_server_name: Type.Optional(
    Type.String({ description: 'Type mcp_toolset: the name of one of mcp_servers.', maxLength: 64 }),
  ),
  default_config: Type.Optional(
    nullable(Type.Object({}, { description: 'Type mcp_toolset: {enabled, defer_loading} of all tools.' })),
  ),
  configs: Type.Optional(
    nullable(Type.Object({}, { description: 'Type mcp_toolset: {enabled, defer_loading} of single tools, by name.' })),
  ),
} as const

type Members = Readonly<Record<string, unknown>>

/** The members of a messages request that are about tool servers. */
export interface ConnectorRequest {
  readonly mcp_servers?: readonly object[] | null | undefined
  readonly tools?: ReadonlyArray<{ readonly type?: string | null | undefined }> | null | undefined
}

/**
 * The servers of the gateway that a messages request names, in order. None when all have addresses: the upstream then gets them as they are.
 * Throws INVALID_FIELD or UNSUPPORTED_FIELD.
 */
export function connectorServersOf({ mcp_servers: named, tools }: ConnectorRequest): NamedServer[] {
  const servers = (named ?? []) as readonly Members[]
  if (servers.length > 0 && servers.every(hasAddress)) return []
  const toolsets = new Map<string, number>()
  for (const [index, tool] of (tools ?? []).entries()) {
    if (tool.type !== 'mcp_toolset') continue
    const { mcp_server_name: name } = tool as Members
    const param = `/tools/${index}/mcp_server_name`
    if (typeof name !== 'string' || !servers.some((server) => server['name'] === name)) {
      throw invalid(param, 'must be the name of one of mcp_servers')
    }
    if (toolsets.has(name)) throw invalid(param, 'names a server that another toolset names')
    toolsets.set(name, index)
  }
  return servers.map((server, index) => {
    const place = `/mcp_servers/${index}`
    const label = labelOf(server, place)
    if (servers.findIndex(({ name }) => name === label) < index) {
      throw invalid(`${place}/name`, 'names a server that another one of mcp_servers names')
    }
    const at = toolsets.get(label)
    if (at === undefined && toolsets.size > 0) {
      throw invalid(`${place}/name`, 'has no toolset: add {"type": "mcp_toolset", "mcp_server_name": …} to tools')
    }
    if (at === undefined) return ofConfiguration(label, server, place)
    const configuration = server['tool_configuration']
    if (configuration !== undefined && configuration !== null) {
      throw unsupported(`${place}/tool_configuration`, 'the toolset of the server has its configuration')
    }
    return ofToolset(label, tools?.[at] as Members, { server: place, toolset: `/tools/${at}` })
  })
}

function hasAddress({ url }: Members): boolean {
  return url !== undefined && url !== null && url !== ''
}

function labelOf(server: Members, place: string): string {
  const { type, name, authorization_token: token } = server
  if (type !== undefined && type !== null && type !== 'url') throw invalid(`${place}/type`, 'must be url')
  if (hasAddress(server)) {
    throw unsupported(
      `${place}/url`,
      'another entry names a server of the gateway; send only those, with an empty url, or only servers with an address',
    )
  }
  if (token !== undefined && token !== null && token !== '') {
    throw unsupported(`${place}/authorization_token`, 'the gateway has the credentials of its servers; leave it out')
  }
  if (typeof name !== 'string' || name === '') throw invalid(`${place}/name`, 'is required')
  return name
}

function ofConfiguration(label: string, { tool_configuration: sent }: Members, place: string): NamedServer {
  const { enabled, allowed_tools: allowed } = (sent ?? {}) as Members
  const tools = `${place}/tool_configuration/allowed_tools`
  if (allowed !== undefined && allowed !== null && !isTexts(allowed)) throw invalid(tools, 'must be a list of names')
  const allowedTools = enabled === false ? [] : (allowed ?? null)
  return {
    label,
    allowedTools,
    deniedTools: [],
    readOnly: false,
    approval: NO_APPROVAL,
    places: { label: `${place}/name`, tools, approval: place },
  }
}

/** The configuration of a tool goes before the default one. */
function ofToolset(
  label: string,
  toolset: Members,
  places: { readonly server: string; readonly toolset: string },
): NamedServer {
  const { default_config: all, configs, tools } = toolset
  if (tools !== undefined && tools !== null) {
    throw unsupported(`${places.toolset}/tools`, 'the gateway lists the tools of its servers itself; leave it out')
  }
  const isEnabled = enabledOf(all, `${places.toolset}/default_config`) ?? true
  const enabled: string[] = []
  const denied: string[] = []
  for (const [name, config] of Object.entries((configs ?? {}) as Members)) {
    const own = enabledOf(config, `${places.toolset}/configs/${name.replace(/~/g, '~0').replace(/\//g, '~1')}`)
    if (own ?? isEnabled) enabled.push(name)
    else denied.push(name)
  }
  return {
    label,
    allowedTools: isEnabled ? null : enabled,
    deniedTools: denied,
    readOnly: false,
    approval: NO_APPROVAL,
    places: { label: `${places.server}/name`, tools: `${places.toolset}/configs`, approval: places.toolset },
  }
}

function enabledOf(config: unknown, place: string): boolean | null {
  if (config === undefined || config === null) return null
  if (typeof config !== 'object') throw invalid(place, 'must be an object')
  const { enabled } = config as Members
  if (enabled === undefined || enabled === null) return null
  if (typeof enabled !== 'boolean') throw invalid(`${place}/enabled`, 'must be true or false')
  return enabled
}
