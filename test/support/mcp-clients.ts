import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js'
import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js'
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js'

export type McpTransport = 'streamable' | 'sse'

export const TRANSPORTS: readonly McpTransport[] = ['streamable', 'sse']

/** A client of the official SDK that is connected to the tool server of a gateway. */
export async function connectMcp(
  url: string,
  token: string,
  kind: McpTransport = 'streamable',
  { headers = {}, fetch }: { readonly headers?: Readonly<Record<string, string>>; readonly fetch?: FetchLike } = {},
): Promise<Client> {
  const client = new Client({ name: 'test', version: '1.0.0' })
  const requestInit = { headers: { authorization: `Bearer ${token}`, ...headers } }
  const options = { requestInit, ...(fetch === undefined ? {} : { fetch }) }
  const transport =
    kind === 'sse'
      ? new SSEClientTransport(new URL('/mcp/sse', url), options)
      : new StreamableHTTPClientTransport(new URL('/mcp', url), options)
  await client.connect(transport)
  return client
}

/** Calls a tool. Rejects when the call fails. */
export async function callTool(
  client: Client,
  name: string,
  input: Record<string, unknown> = {},
): Promise<Record<string, unknown>> {
  const result = CallToolResultSchema.parse(await client.callTool({ name, arguments: input }))
  if (result.isError === true) throw new Error(textOf(result))
  return result.structuredContent ?? {}
}

export function textOf({ content }: Pick<CallToolResult, 'content'>): string {
  return content.map((item) => (item.type === 'text' ? item.text : '')).join('')
}
