import type { Static } from 'typebox'
import type { TOOL_CONNECTIONS, ToolConnection } from '../../shared/api/operations/tool-connections.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import { insertAuditEntry } from '../store/audit-log.ts'
import type { Database, Queryable } from '../store/database.ts'
import { deleteGrant, listGrants } from '../store/tool-server-grants.ts'
import type { GrantRow } from '../store/tool-server-grants.ts'
import { Redirect } from './call.ts'
import type { Caller, Handlers } from './call.ts'
import { offsetOf, pageOf } from './pages.ts'

/** The acts of the tool server that users' connections to upstream servers need. */
export interface ToolConnectionParts {
  /** The ids of the servers with OAuth that the user may use. */
  readonly serversFor: (user: Caller) => Promise<readonly string[]>
  /** Rejects with NOT_FOUND, CONFLICT and the errors of upstreams. */
  readonly start: (user: Caller, serverId: string) => Promise<{ readonly url: string; readonly expiresAt: Date }>
  /** Exchanges the code. `keep` keeps the grant; it returns false when the user is not active any more. */
  readonly finish: (
    user: Caller,
    sent: { readonly state: string; readonly code: string; readonly iss: string | undefined },
  ) => Promise<{ readonly serverId: string; readonly keep: (tx: Queryable) => Promise<boolean> }>
  /** The user has connected an account. */
  readonly onConnected: (serverId: string, user: Caller) => void
  /** The user has no grant any more: ends the connection that uses it. */
  readonly onEnded: (serverId: string, userId: string) => void
  readonly consoleUrl: string | null
}

/** Own accounts of users at tool servers. Each operation is about the grants of its caller alone. */
export function toolConnectionHandlers(
  database: Database,
  parts: ToolConnectionParts,
): Handlers<keyof typeof TOOL_CONNECTIONS> {
  return {
    listToolConnections: async ({ query, caller }) => {
      const [usable, grants] = await Promise.all([parts.serversFor(caller), listGrants(database, caller.userId)])
      const ids = [...new Set([...usable, ...grants.map(({ serverId }) => serverId)])].sort()
      const { offset, limit } = offsetOf(query)
      return pageOf(ids.slice(offset, offset + limit), ids.length, query, (id) => {
        const grant = grants.find(({ serverId }) => serverId === id) ?? null
        return rendered(id, grant, usable.includes(id), parts.consoleUrl)
      })
    },

    startToolConnection: async ({ params, caller }) => {
      const { url, expiresAt } = await parts.start(caller, params.id)
      return { url, expires_at: expiresAt.toISOString() }
    },

    toolConnectionCallback: ({ query }) => {
      const told = Object.entries({ code: query.code, state: query.state, iss: query.iss, error: query.error })
      const known = told.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as [string, string]]))
      // Behind the #, neither servers nor a Referer see it.
      const answer = new URLSearchParams(known).toString()
      return Promise.resolve(new Redirect(`${parts.consoleUrl ?? ''}/connect#${answer}`, null))
    },

    finishToolConnection: async ({ body, caller, address, requestId }) => {
      const { serverId, keep } = await parts.finish(caller, { state: body.state, code: body.code, iss: body.iss })
      await database.transaction(async (tx) => {
        if (!(await keep(tx))) throw new GatewayError('TOKEN_INVALID')
        await insertAuditEntry(tx, {
          userId: caller.userId,
          role: caller.role,
          operation: 'finishToolConnection',
          path: '/api/mcp/connections',
          enterpriseId: null,
          targetId: serverId,
          sent: null,
          changes: null,
          address,
          requestId,
          outcome: 'done',
          errorCode: null,
        })
      })
      parts.onConnected(serverId, caller)
      const grants = await listGrants(database, caller.userId)
      return rendered(serverId, grants.find((grant) => grant.serverId === serverId) ?? null, true, parts.consoleUrl)
    },

    endToolConnection: async ({ params, caller, afterCommit }) => {
      const { userId } = caller
      if (!(await deleteGrant(database, { userId, serverId: params.id }))) throw new GatewayError('NOT_FOUND')
      afterCommit(() => {
        parts.onEnded(params.id, userId)
      })
      return null
    },
  }
}

function rendered(
  id: string,
  grant: GrantRow | null,
  isUsable: boolean,
  consoleUrl: string | null,
): Static<typeof ToolConnection> {
  const state = isUsable ? 'connected' : 'unusable'
  return {
    id,
    state: grant === null ? 'none' : state,
    scope: grant?.scope ?? null,
    connected_at: grant?.createdAt.toISOString() ?? null,
    connect_url: consoleUrl === null ? null : `${consoleUrl}/connect/${id}`,
  }
}
