/** The document that tells where tokens come from (RFC 9728). */
export const METADATA = '/.well-known/oauth-protected-resource'

/** Whether the path is one of the tool server. */
export function isMcpPath(path: string): boolean {
  return path === '/mcp' || path.startsWith('/mcp/') || path === METADATA || path.startsWith(`${METADATA}/`)
}

/** Whether a front hands an AI request over, which names tool servers. It forwards no request of a client with such a path. */
export function isChatPath(path: string): boolean {
  return path === '/v1/chat/completions' || path === '/v1/responses'
}
