import type { ToolServer } from '../../src/shared/core/tool-server.ts'

/** An upstream server of tools as the configuration file has it, with the given members. */
export function toolServer(members: Partial<ToolServer> = {}): ToolServer {
  return {
    id: 'search',
    place: { url: 'https://tools.example.com/mcp', transport: 'http' },
    headers: {},
    timeoutMs: 10_000,
    priceMicro: 0,
    enabled: true,
    access: [],
    allowAllTools: false,
    isInteractive: false,
    samplingModel: null,
    oauth: null,
    clientSecret: null,
    source: 'file',
    ...members,
  }
}
