import { ownVersion } from '../../shared/config/own-version.ts'
import { Seal } from '../../shared/runtime/seal.ts'
import type { AiAnswer, AiRequest } from '../../shared/core/ai-request.ts'
import type { Queryable } from '../store/database.ts'
import type { AccessTokens } from '../management/access-tokens.ts'
import type { Guard } from '../management/guard.ts'
import type { ManagementRouter } from '../management/router.ts'
import type { ManagementRequest, ManagementResponse } from '../management/web.ts'
import type { ChatService } from '../mcp/chats/chat-service.ts'
import type { McpService } from '../mcp/mcp-service.ts'
import type { ControlBase } from './base.ts'
import type { ControlSnapshots } from './snapshots.ts'
import type { ControlStore } from './store.ts'
import type { ControlToolServers } from './tool-servers.ts'

export interface McpNeeds {
  readonly store: ControlStore
  readonly snapshots: ControlSnapshots
  readonly database: Queryable
  readonly guard: Guard
  readonly router: ManagementRouter
  /** Null: there is no OpenID provider. */
  readonly accessTokens: AccessTokens | null
  readonly toolServers: ControlToolServers
}

export interface ControlMcp {
  serve(request: ManagementRequest): Promise<ManagementResponse>
  /** Serves an AI request that names tool servers of the gateway. */
  converse(request: ManagementRequest): Promise<ManagementResponse>
  close(): void
}

/** The tool server. Its modules are loaded at the first request: most gateways serve no tools. */
export function buildMcp(base: ControlBase, needs: McpNeeds): ControlMcp {
  let services: Promise<Services> | null = null
  let isClosed = false
  return {
    async serve(request) {
      services ??= makeServices(base, needs)
      const { mcp } = await services
      return mcp.serve(request)
    },
    async converse(request) {
      services ??= makeServices(base, needs)
      const { chats } = await services
      return chats.serve(request)
    },
    close() {
      if (isClosed) return
      isClosed = true
      services?.then(({ mcp }) => {
        mcp.close()
      }, base.onFault)
    },
  }
}

interface Services {
  readonly mcp: McpService
  readonly chats: ChatService
}

async function makeServices({ config, clock, link, onFault }: ControlBase, needs: McpNeeds): Promise<Services> {
  const { database, guard, router, store, snapshots, toolServers, accessTokens } = needs
  const [{ McpService }, { McpCallers }, { McpSessions }, { ModelList }, { ModelTools }, { OperationTools }] =
    await Promise.all([
      import('../mcp/mcp-service.ts'),
      import('../mcp/callers.ts'),
      import('../mcp/sessions.ts'),
      import('../mcp/model-list.ts'),
      import('../mcp/model-tools.ts'),
      import('../mcp/operation-tools.ts'),
    ])
  const [
    { ChatService },
    { ListWatch },
    { Origins },
    { Resources },
    { SessionIds },
    { SessionNotices },
    { Tools },
    { ServerTools },
  ] = await Promise.all([
    import('../mcp/chats/chat-service.ts'),
    import('../mcp/list-watch.ts'),
    import('../mcp/origins.ts'),
    import('../mcp/resources.ts'),
    import('../mcp/session-ids.ts'),
    import('../mcp/session-notices.ts'),
    import('../mcp/tools.ts'),
    import('../mcp/servers/server-tools.ts'),
  ])
  const callers = new McpCallers({ database, guard, accessTokens, keyHash: store.secrets.keyHash })
  const models = new ModelList(() => snapshots.publisher.current, config.money.currency)
  const requestAi = (request: AiRequest, signal: AbortSignal): Promise<AiAnswer> => link.requestAi(request, signal)
  const { book, grants } = await toolServers.open()
  const sources = [
    new ModelTools({ database, models, requestAi }),
    new OperationTools({ callers, serve: (request) => router.serve(request), now: () => clock.now() }),
    new ServerTools({ database, book, grants, requestAi }),
  ]
  const tools = new Tools(sources, onFault)
  const { oidc } = config.signIn
  const { address, keyPrefix } = config.redis
  const ids = new SessionIds(new Seal(store.secrets.keyHash, 'tool session'))
  const sessions = new McpSessions({ callers, max: config.mcp.maxSessions, onFault })
  const watch = new ListWatch({ database, sessions, tools, version: () => book.version(), onFault })
  const mcp = new McpService({
    parts: {
      tools,
      resources: new Resources(models),
      version: ownVersion(),
      onListed: (subject, listed) => {
        watch.listed(subject, listed)
      },
      onFault,
    },
    callers,
    ids,
    sessions,
    notices: address === null ? null : new SessionNotices({ redis: { address, keyPrefix }, sessions, ids, onFault }),
    watch,
    origins: new Origins({ baseUrl: config.server.baseUrl, allowed: config.server.corsOrigins }),
    baseUrl: config.server.baseUrl,
    isTls: config.server.tls !== null,
    authorization: oidc === null ? null : { servers: [oidc.issuer], scopes: oidc.mcpScopes },
  })
  const approvals = new Seal(store.secrets.keyHash, 'tool approval')
  const chats = new ChatService({ bounds: config.mcp.chats, callers, tools, models, approvals, requestAi, onFault })
  return { mcp, chats }
}
