/** The document that tells where tokens come from (RFC 9728). */
export const METADATA = '/.well-known/oauth-protected-resource'

/** Whether the path is one of the tool server. */
export function isMcpPath(path: string): boolean {
  return path === '/mcp' || path.startsWith('/mcp/') || path === METADATA || path.startsWith(`${METADATA}/`)
}

const CHATS: ReadonlySet<string> = new Set([
  '/v1/chat/completions',
  '/v1/responses',
  '/v1/messages',
  '/v1/messages/count_tokens',
])

/**
 * Whether a front hands an AI request over, which names tool servers. It forwards no request of a client with such a path.
 * @param vendor the vendor whose clients have it in front of their paths
 */
export function isChatPath(path: string, vendor: string): boolean {
  return CHATS.has(path.startsWith(`/${vendor}/`) ? path.slice(vendor.length + 1) : path)
}
