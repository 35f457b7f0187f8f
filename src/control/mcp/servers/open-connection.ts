import type { ToolServer } from '../../../shared/core/tool-server.ts'
import { Connection } from './connection.ts'
import type { OpenOptions, ServerConnection } from './connection.ts'
import { OpenApiConnection } from './openapi-connection.ts'
import type { OpenApiParts } from './openapi-connection.ts'

export type ConnectionParts = OpenApiParts & { readonly version: string }

/** A connection to a server of any kind. Rejects with the errors of upstreams. */
export function openConnection(
  server: ToolServer,
  parts: ConnectionParts,
  options: OpenOptions,
): Promise<ServerConnection> {
  const { place } = server
  return 'transport' in place && place.transport === 'openapi'
    ? OpenApiConnection.open(server, place, parts)
    : Connection.open(server, parts, options)
}
