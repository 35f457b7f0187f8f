import type { Static } from 'typebox'
import type { TOOL_SERVERS, ToolServer as ShownServer } from '../../shared/api/operations/tool-servers.ts'
import type { BodyOf } from '../../shared/api/operation.ts'
import { checkStoredToolServer, toolAccessRule } from '../../shared/config/tool-servers.ts'
import type { OAuthEntry } from '../../shared/config/tool-servers.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import { OWN_SERVER, stateOfTool } from '../../shared/core/tool-server.ts'
import type { ToolServer, ToolServerAddress } from '../../shared/core/tool-server.ts'
import type { UpstreamReach } from '../../shared/core/upstream-reach.ts'
import type { Seal } from '../../shared/runtime/seal.ts'
import type { Database, Queryable } from '../store/database.ts'
import {
  allowServerTool,
  deleteToolServer,
  denyServerTool,
  listServerTools,
  listToolServers,
  lockToolServers,
  putToolServer,
  putToolServerDocument,
} from '../store/tool-servers.ts'
import type { StoredToolServer } from '../store/tool-servers.ts'
import { deleteGrantsOfServer } from '../store/tool-server-grants.ts'
import type { Handlers } from './call.ts'
import { orNotFound } from './or-not-found.ts'
import { offsetOf, pageOf } from './pages.ts'
import { isShadowed, renderedServer, renderedTool } from './tool-server-views.ts'
import { checkStorable, validateAsConfiguration } from './validate-as-configuration.ts'

const MAX_SERVERS = 200
const DEFAULT_TIMEOUT_MS = 60_000

/** The outcome of a connection that was made as a test. */
export interface ToolServerTest {
  readonly latencyMs: number
  /** Null: they could not be listed. */
  readonly tools: number | null
  readonly error: { readonly code: string; readonly message: string } | null
}

/** The acts of the tool server that the management of upstream servers needs. */
export interface ToolServerParts {
  /** Servers of the configuration file. */
  readonly configured: readonly ToolServer[]
  readonly seal: Seal
  readonly reach: UpstreamReach
  /** The stored servers have changed: lists the tools of this one. */
  readonly onChanged: (id: string) => void
  /** Lists the tools of a server and notes them: as this user, where it has OAuth. Rejects with the errors of upstreams. */
  readonly refresh: (server: ToolServer, userId: string, signal: AbortSignal) => Promise<void>
  readonly test: (server: ToolServer, userId: string, signal: AbortSignal) => Promise<ToolServerTest>
  /** Reads an OpenAPI document: tells it from others, and what of it cannot be a tool. Throws INVALID_FIELD. */
  readonly readOpenApi: (text: string) => Promise<NonNullable<ToolServerAddress['document']>>
  /** The names of tools for clients, by their names at the server. */
  readonly names: (serverId: string, tools: Iterable<string>) => ReadonlyMap<string, string>
}

type Names = keyof typeof TOOL_SERVERS
type CreateBody = BodyOf<typeof TOOL_SERVERS.adminCreateToolServer>
type UpdateBody = BodyOf<typeof TOOL_SERVERS.adminUpdateToolServer>

/** Upstream servers of tools. Those of the configuration file are shown here, and changed only in the file. */
export function toolServerHandlers(database: Database, parts: ToolServerParts): Handlers<Names> {
  const { configured, seal, reach } = parts
  const all = async (queryable: Queryable): Promise<readonly (ToolServer | StoredToolServer)[]> => [
    ...configured,
    ...(await listToolServers(queryable, seal)),
  ]
  const find = async (queryable: Queryable, id: string): Promise<ToolServer | StoredToolServer> =>
    orNotFound((await all(queryable)).find((server) => server.id === id) ?? null)

  /** Throws CONFLICT for a server of the configuration. */
  const changeable = async (tx: Queryable, id: string): Promise<StoredToolServer> => {
    if (configured.some((server) => server.id === id)) {
      throw new GatewayError('CONFLICT', { message: 'This server comes from the configuration file: change it there.' })
    }
    return orNotFound((await listToolServers(tx, seal)).find((server) => server.id === id) ?? null)
  }

  const shown = async (queryable: Queryable, servers: readonly (ToolServer | StoredToolServer)[]) => {
    const tools = await listServerTools(
      queryable,
      servers.map(({ id }) => id),
    )
    return servers.map((server) => renderedServer(server, { tools, isShadowed: isShadowed(server, configured) }))
  }
  const shownOne = async (queryable: Queryable, id: string): Promise<Static<typeof ShownServer>> =>
    orNotFound((await shown(queryable, [await find(queryable, id)]))[0] ?? null)

  /** Null: the body has none. */
  const documentOf = async ({
    openapi,
    transport,
  }: Pick<CreateBody, 'openapi' | 'transport'>): Promise<ToolServerAddress['document'] | null> => {
    if (openapi === undefined) return null
    if (transport === undefined) return parts.readOpenApi(openapi)
    throw new GatewayError('INVALID_FIELD', {
      message: 'transport must not be sent with openapi: an HTTP API has none.',
      param: '/transport',
    })
  }

  return {
    adminListToolServers: async ({ query }) => {
      const servers = await all(database)
      const { offset, limit } = offsetOf(query)
      const page = await shown(database, servers.slice(offset, offset + limit))
      return pageOf(page, servers.length, query, (one) => one)
    },

    adminCreateToolServer: async ({ body, afterCommit }) => {
      checkStorable(body)
      if (body.id === OWN_SERVER) {
        const message = `id must not be ${OWN_SERVER}, the name of the gateway's own tools: choose another id.`
        throw new GatewayError('INVALID_FIELD', { message, param: '/id' })
      }
      const { headers = {} } = body
      const document = await documentOf(body)
      const server = checked({ id: body.id, ...settingsOf(body, NEW, document) }, headers, oauthOf(body, NEW), reach)
      const answer = await database.transaction(async (tx) => {
        await lockToolServers(tx)
        const servers = await all(tx)
        if (servers.some(({ id }) => id === body.id)) {
          throw new GatewayError('CONFLICT', { message: 'There is a server with this id already.', param: '/id' })
        }
        if (servers.length >= MAX_SERVERS) {
          throw new GatewayError('CONFLICT', {
            message: `There are ${MAX_SERVERS} servers already, which is the limit.`,
          })
        }
        await putToolServer(tx, seal, server.settings, server)
        if (body.openapi !== undefined) await putToolServerDocument(tx, body.id, body.openapi)
        return shownOne(tx, body.id)
      })
      afterCommit(() => {
        parts.onChanged(body.id)
      })
      return answer
    },

    adminGetToolServer: ({ params }) => shownOne(database, params.id),

    adminUpdateToolServer: async ({ params, body, afterCommit }) => {
      checkStorable(body)
      const document = await documentOf(body)
      const answer = await database.transaction(async (tx) => {
        await lockToolServers(tx)
        const stored = await changeable(tx, params.id)
        const settings = { id: stored.id, ...settingsOf(body, stored, document) }
        // Headers and secrets are for one place: another one must not get them.
        const isElsewhere = body.url !== undefined && !isSameOrigin(stored.place.url, body.url)
        const isKept = body.headers === undefined && !isElsewhere
        const headers = isKept ? (stored.headers ?? {}) : (body.headers ?? {})
        const server = checked(settings, headers, oauthOf(body, stored, isElsewhere), reach)
        await putToolServer(tx, seal, server.settings, { ...server, headers: isKept ? null : server.headers })
        if (isOtherGrant(stored, server.settings)) await deleteGrantsOfServer(tx, stored.id)
        if (body.openapi !== undefined) await putToolServerDocument(tx, params.id, body.openapi)
        else if (server.settings.place.transport !== 'openapi') await putToolServerDocument(tx, params.id, null)
        return shownOne(tx, params.id)
      })
      afterCommit(() => {
        parts.onChanged(params.id)
      })
      return answer
    },

    adminDeleteToolServer: async ({ params, afterCommit }) => {
      await changeable(database, params.id)
      if (!(await deleteToolServer(database, params.id))) throw new GatewayError('NOT_FOUND')
      afterCommit(() => {
        parts.onChanged(params.id)
      })
      return null
    },

    adminTestToolServer: async ({ params, caller, signal }) => {
      const { latencyMs, tools, error } = await parts.test(await find(database, params.id), caller.userId, signal)
      return { ok: error === null, latency_ms: latencyMs, tools, error }
    },

    adminRefreshToolServer: async ({ params, caller, signal }) => {
      await parts.refresh(await find(database, params.id), caller.userId, signal)
      return shownOne(database, params.id)
    },

    adminListServerTools: async ({ params, query }) => {
      const server = await find(database, params.id)
      const tools = await listServerTools(database, [server.id])
      const wanted = query.state === undefined ? tools : tools.filter((tool) => stateOfTool(tool) === query.state)
      const names = parts.names(
        server.id,
        tools.filter((tool) => stateOfTool(tool) !== 'gone').map(({ name }) => name),
      )
      const { offset, limit } = offsetOf(query)
      return pageOf(wanted.slice(offset, offset + limit), wanted.length, query, (tool) => renderedTool(tool, names))
    },

    adminDecideServerTools: async ({ params, body: { allow = [], deny = [] }, audit, afterCommit }) => {
      const { id } = await find(database, params.id)
      await database.transaction(async (tx) => {
        const before = await decidedOf(tx, id)
        for (const { server_tool: name, digest } of allow) {
          if (await allowServerTool(tx, id, { name, digest })) continue
          const message = `The server has no tool ${JSON.stringify(name)} with this digest (any more). Look at it again.`
          throw new GatewayError('CONFLICT', { message, param: '/allow' })
        }
        for (const name of deny) orNotFound((await denyServerTool(tx, id, name)) ? true : null)
        audit({ before, after: await decidedOf(tx, id) })
      })
      afterCommit(() => {
        parts.onChanged(id)
      })
      return null
    },
  }
}

/** The allowed tools by name, for the audit log. */
async function decidedOf(queryable: Queryable, serverId: string): Promise<Record<string, string | null>> {
  const tools = await listServerTools(queryable, [serverId])
  return Object.fromEntries(tools.map(({ name, allowedDigest }) => [name, allowedDigest]))
}

const NEW: Omit<StoredToolServer, 'id' | 'headers' | 'clientSecret' | 'source' | 'createdAt' | 'updatedAt'> = {
  place: { url: '', transport: 'http' },
  timeoutMs: DEFAULT_TIMEOUT_MS,
  priceMicro: 0,
  enabled: true,
  access: [],
  allowAllTools: false,
  isInteractive: false,
  samplingModel: null,
  oauth: null,
}

function settingsOf(
  body: CreateBody | UpdateBody,
  before: typeof NEW,
  document: ToolServerAddress['document'] | null,
): typeof NEW {
  return {
    place: placeOf(body, before.place, document),
    timeoutMs: body.timeout_ms ?? before.timeoutMs,
    priceMicro: body.price_micro ?? before.priceMicro,
    enabled: body.enabled ?? before.enabled,
    access: body.access?.map(toolAccessRule) ?? before.access,
    allowAllTools: body.allow_all_tools ?? before.allowAllTools,
    isInteractive: body.interactive ?? before.isInteractive,
    samplingModel: body.sampling_model === undefined ? before.samplingModel : body.sampling_model,
    oauth: before.oauth,
  }
}

/** The authorisation of users after a change: what is not sent stays, but for the secret of another client or place. */
function oauthOf(
  body: CreateBody | UpdateBody,
  before: Pick<ToolServer, 'oauth'> & Partial<Pick<ToolServer, 'clientSecret'>>,
  isElsewhere = false,
): OAuthEntry {
  const { auth = before.oauth === null ? 'none' : 'oauth', oauth_client_id: clientId, oauth_scopes: scopes } = body
  const known = auth === 'none' ? null : before.oauth
  const client = clientId === undefined ? known?.clientId : clientId
  const isSameClient = client === known?.clientId && !isElsewhere
  const secret = isSameClient && known !== null ? before.clientSecret : null
  return {
    auth,
    oauth_client_id: client,
    oauth_client_secret: body.oauth_client_secret === undefined ? secret : body.oauth_client_secret,
    oauth_scopes: scopes ?? known?.scopes,
  }
}

function isSameOrigin(before: string, after: string): boolean {
  return URL.canParse(after) && new URL(before).origin === new URL(after).origin
}

/** Whether grants for the server as it was are of no use, or not meant, for the server as it is. */
function isOtherGrant(before: StoredToolServer, after: Pick<StoredToolServer, 'place' | 'oauth'>): boolean {
  if (before.oauth === null) return false
  return before.place.url !== after.place.url || before.oauth.clientId !== after.oauth?.clientId
}

function placeOf(
  { url: sent, transport }: CreateBody | UpdateBody,
  before: ToolServerAddress,
  document: ToolServerAddress['document'] | null,
): ToolServerAddress {
  const url = sent ?? before.url
  if (document !== null && document !== undefined) return { url, transport: 'openapi', document }
  return transport === undefined ? { ...before, url } : { url, transport }
}

/** Throws INVALID_FIELD. */
function checked(
  settings: typeof NEW & { readonly id: string },
  headers: Readonly<Record<string, string>>,
  oauth: OAuthEntry,
  reach: UpstreamReach,
) {
  const { place } = settings
  const sound = validateAsConfiguration(() => checkStoredToolServer(place, { headers, oauth }, reach))
  const { url, clientSecret } = sound
  return {
    settings: { ...settings, place: { ...place, url }, oauth: sound.oauth },
    headers: sound.headers,
    clientSecret,
  }
}
