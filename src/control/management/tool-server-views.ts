import type { Static } from 'typebox'
import type { ServerTool as ShownTool, ToolServer as ShownServer } from '../../shared/api/operations/tool-servers.ts'
import { stateOfTool } from '../../shared/core/tool-server.ts'
import type { ServerTool, ToolAccessRule, ToolDefinition, ToolServer } from '../../shared/core/tool-server.ts'
import type { StoredToolServer } from '../store/tool-servers.ts'

/** Whether the configuration file has a server of the same id, which is used instead. */
export function isShadowed(server: ToolServer, configured: readonly ToolServer[]): boolean {
  return server.source === 'stored' && configured.some(({ id }) => id === server.id)
}

/** A server as the API shows it. */
export function renderedServer(
  server: ToolServer | StoredToolServer,
  { tools, isShadowed: hidden }: { readonly tools: readonly ServerTool[]; readonly isShadowed: boolean },
): Static<typeof ShownServer> {
  const { id, place, headers, source, enabled } = server
  const states = tools.filter(({ serverId }) => serverId === id).map(stateOfTool)
  const count = (wanted: string): number => states.filter((state) => state === wanted).length
  const stateOf = (): 'active' | 'disabled' | 'unreadable' | 'shadowed' => {
    if (hidden) return 'shadowed'
    if (headers === null) return 'unreadable'
    return enabled ? 'active' : 'disabled'
  }
  return {
    id,
    source,
    state: stateOf(),
    url: 'url' in place ? place.url : null,
    transport: 'url' in place ? place.transport : 'stdio',
    openapi_digest: 'url' in place ? (place.document?.digest ?? null) : null,
    left_out: 'url' in place ? (place.document?.leftOut ?? []).map((one) => ({ ...one })) : [],
    headers: Object.keys(headers ?? {}),
    auth: server.oauth === null ? 'none' : 'oauth',
    oauth_client_id: server.oauth?.clientId ?? null,
    oauth_scopes: [...(server.oauth?.scopes ?? [])],
    timeout_ms: server.timeoutMs,
    price_micro: server.priceMicro,
    enabled,
    access: server.access.map(renderedRule),
    allow_all_tools: server.allowAllTools,
    interactive: server.isInteractive,
    sampling_model: server.samplingModel,
    tools: { allowed: count('allowed'), held: count('held'), waiting: count('waiting') },
    created_at: 'createdAt' in server ? server.createdAt.toISOString() : null,
    updated_at: 'updatedAt' in server ? server.updatedAt.toISOString() : null,
  }
}

function renderedRule({ everyone, role, enterpriseId, departmentId, keyId }: ToolAccessRule) {
  return {
    ...(everyone === undefined ? {} : { everyone }),
    ...(role === undefined ? {} : { role }),
    ...(enterpriseId === undefined ? {} : { enterprise_id: enterpriseId }),
    ...(departmentId === undefined ? {} : { department_id: departmentId }),
    ...(keyId === undefined ? {} : { key_id: keyId }),
  }
}

/** A tool of a server as the API shows it. @param names the names for clients */
export function renderedTool(tool: ServerTool, names: ReadonlyMap<string, string>): Static<typeof ShownTool> {
  return {
    name: names.get(tool.name) ?? null,
    server_tool: tool.name,
    state: stateOfTool(tool),
    digest: tool.seenDigest,
    allowed: renderedDefinition(tool.allowed),
    newest: renderedDefinition(tool.seen),
    changed_at: tool.changedAt.toISOString(),
  }
}

function renderedDefinition(definition: ToolDefinition | null): Static<typeof ShownTool>['allowed'] {
  if (definition === null) return null
  const { title, description, inputSchema, outputSchema, annotations } = definition
  return { title, description, input_schema: inputSchema, output_schema: outputSchema, annotations }
}
