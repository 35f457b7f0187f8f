import type { EnterpriseRole } from '../../shared/api/roles.ts'
import type { ServerTool, ToolDefinition, ToolServer, ToolServerAddress } from '../../shared/core/tool-server.ts'
import type { Seal } from '../../shared/runtime/seal.ts'
import type { Database, Queryable } from './database.ts'
import { departmentsAbove } from './departments.ts'
import { deleteGrantsOfServer } from './tool-server-grants.ts'
import { storableText } from './text.ts'

/** Names the key under which headers of tool servers are sealed. */
export const TOOL_SERVER_SEAL = 'tool server headers'

/** A server that an admin made. */
export interface StoredToolServer extends ToolServer {
  readonly place: ToolServerAddress
  readonly createdAt: Date
  readonly updatedAt: Date
}

interface ServerRow {
  readonly id: string
  readonly settings: Omit<ToolServer, 'id' | 'headers' | 'clientSecret' | 'source' | 'place' | 'oauth'> & {
    readonly place: ToolServerAddress
    /** Servers of earlier versions have none. */
    readonly oauth?: ToolServer['oauth']
  }
  readonly headers: Buffer
  readonly clientSecret: Buffer | null
  readonly createdAt: Date
  readonly updatedAt: Date
}

interface ToolRow {
  readonly serverId: string
  readonly name: string
  readonly allowed: string | null
  readonly allowedDigest: string | null
  readonly seen: string | null
  readonly seenDigest: string | null
  readonly changedAt: Date
}

/** A definition of a tool, and what tells it from others. */
export interface DigestedTool {
  readonly definition: ToolDefinition
  readonly digest: string
}

/** A place in an enterprise, from which rights to tools come. */
export interface ToolHolder {
  readonly enterpriseId: string
  readonly role: EnterpriseRole | null
  /** The department and those above it. */
  readonly departmentIds: readonly string[]
}

const TOOL_FIELDS = `server_id AS "serverId", name, allowed, allowed_digest AS "allowedDigest", seen, seen_digest AS "seenDigest",
  changed_at AS "changedAt"`

/** Lists the servers that admins made, the oldest first. */
export async function listToolServers(queryable: Queryable, seal: Seal): Promise<StoredToolServer[]> {
  const rows = await queryable.query<ServerRow>(
    `SELECT id, settings, headers, client_secret AS "clientSecret", created_at AS "createdAt", updated_at AS "updatedAt"
      FROM tool_servers ORDER BY created_at, id`,
  )
  return rows.map(({ settings, headers, clientSecret: sealed, ...row }) => {
    const secret = sealed === null ? null : seal.open(sealed, secretContextOf(row.id))
    const isReadable = sealed === null || secret !== null
    return {
      ...row,
      ...settings,
      oauth: settings.oauth ?? null,
      headers: isReadable ? openedHeaders(row.id, headers, seal) : null,
      clientSecret: secret?.toString('utf8') ?? null,
      source: 'stored',
    }
  })
}

/** Changes with each change of a server, or of what is known of its tools. */
export async function toolServersVersion(queryable: Queryable): Promise<string> {
  const [row] = await queryable.query<{ version: string }>(
    `SELECT concat_ws(' ',
        (SELECT md5(string_agg(concat_ws(' ', id, updated_at), ',' ORDER BY id)) FROM tool_servers),
        (SELECT md5(string_agg(concat_ws(' ', server_id, name, 'a', allowed_digest, 's', seen_digest), ','
          ORDER BY server_id, name)) FROM server_tools)) AS version`,
  )
  return row?.version ?? ''
}

/** Makes other changes of servers wait until the transaction ends. */
export async function lockToolServers(tx: Queryable): Promise<void> {
  await tx.query('LOCK TABLE tool_servers IN SHARE ROW EXCLUSIVE MODE')
}

/** Inserts or updates a server. @param headers null keeps the stored ones */
export async function putToolServer(
  queryable: Queryable,
  seal: Seal,
  { id, ...settings }: Omit<StoredToolServer, 'headers' | 'clientSecret' | 'source' | 'createdAt' | 'updatedAt'>,
  {
    headers,
    clientSecret,
  }: {
    readonly headers: Readonly<Record<string, string>> | null
    readonly clientSecret: string | null
  },
): Promise<void> {
  const sealed = headers === null ? null : sealedHeaders(id, headers, seal)
  const secret = clientSecret === null ? null : seal.seal(Buffer.from(clientSecret), secretContextOf(id))
  await queryable.query(
    `INSERT INTO tool_servers (id, settings, headers, client_secret) VALUES ($1, $2::jsonb, coalesce($3, ''::bytea), $4)
      ON CONFLICT (id) DO UPDATE SET settings = excluded.settings, headers = coalesce($3, tool_servers.headers),
        client_secret = $4, updated_at = clock_timestamp()`,
    [id, JSON.stringify(settings), sealed, secret],
  )
}

/** The OpenAPI document of a server; null: it has none. */
export async function findToolServerDocument(queryable: Queryable, id: string): Promise<string | null> {
  const [row] = await queryable.query<{ document: string }>(
    'SELECT document FROM tool_server_documents WHERE server_id = $1',
    [id],
  )
  return row?.document ?? null
}

/** Keeps the OpenAPI document of a server that is stored; null forgets it. */
export async function putToolServerDocument(tx: Queryable, id: string, document: string | null): Promise<void> {
  if (document === null) {
    await tx.query('DELETE FROM tool_server_documents WHERE server_id = $1', [id])
    return
  }
  await tx.query(
    `INSERT INTO tool_server_documents (server_id, document) VALUES ($1, $2)
      ON CONFLICT (server_id) DO UPDATE SET document = excluded.document`,
    [id, document],
  )
}

/** Deletes a server, what is known of its tools, and the grants of its users. Returns false when there is no such server. */
export async function deleteToolServer(queryable: Queryable, id: string): Promise<boolean> {
  const rows = await queryable.query('DELETE FROM tool_servers WHERE id = $1 RETURNING id', [storableText(id)])
  if (rows.length > 0) {
    await queryable.query(
      `WITH listed AS (DELETE FROM listed_tool_servers WHERE server_id = $1) DELETE FROM server_tools WHERE server_id = $1`,
      [id],
    )
    await deleteGrantsOfServer(queryable, id)
  }
  return rows.length > 0
}

/** Lists the tools of the servers, by name. */
export async function listServerTools(queryable: Queryable, serverIds: readonly string[]): Promise<ServerTool[]> {
  const rows = await queryable.query<ToolRow>(
    `SELECT ${TOOL_FIELDS} FROM server_tools WHERE server_id = ANY ($1::text[]) ORDER BY server_id, name COLLATE "C"`,
    [serverIds.map(storableText)],
  )
  return rows.map(({ allowed, seen, ...row }) => ({ ...row, allowed: definitionOf(allowed), seen: definitionOf(seen) }))
}

/**
 * Notes which tools a server has. With `allowsFirst`, those of its first list are allowed, and of no later one. A tool that it does not
 * have any more, and that no admin has allowed, is forgotten.
 */
export async function noteSeenTools(
  database: Database,
  serverId: string,
  tools: readonly DigestedTool[],
  allowsFirst: boolean,
): Promise<void> {
  const names = tools.map(({ definition }) => definition.name)
  const seen = tools.map(({ definition }) => JSON.stringify(definition))
  const digests = tools.map(({ digest }) => digest)
  await database.transaction(async (tx) => {
    const first = await tx.query(
      'INSERT INTO listed_tool_servers (server_id) VALUES ($1) ON CONFLICT DO NOTHING RETURNING server_id',
      [serverId],
    )
    const allows = allowsFirst && first.length > 0
    await tx.query('DELETE FROM server_tools WHERE server_id = $1 AND allowed IS NULL AND name <> ALL ($2::text[])', [
      serverId,
      names,
    ])
    await tx.query(
      `UPDATE server_tools SET seen = NULL, seen_digest = NULL, changed_at = clock_timestamp()
        WHERE server_id = $1 AND seen IS NOT NULL AND name <> ALL ($2::text[])`,
      [serverId, names],
    )
    await tx.query(
      `INSERT INTO server_tools AS t (server_id, name, seen, seen_digest, allowed, allowed_digest)
        SELECT $1, name, seen, digest, CASE WHEN $5 THEN seen END, CASE WHEN $5 THEN digest END
          FROM unnest($2::text[], $3::text[], $4::text[]) AS n (name, seen, digest)
        ON CONFLICT (server_id, name) DO UPDATE
          SET seen = excluded.seen, seen_digest = excluded.seen_digest, changed_at = clock_timestamp()
          WHERE t.seen_digest IS DISTINCT FROM excluded.seen_digest`,
      [serverId, names, seen, digests, allows],
    )
  })
}

/** Allows a tool as it was seen with this digest. Returns false when there is no such tool, or when it has changed since. */
export async function allowServerTool(
  queryable: Queryable,
  serverId: string,
  { name, digest }: { readonly name: string; readonly digest: string },
): Promise<boolean> {
  const rows = await queryable.query(
    `UPDATE server_tools SET allowed = seen, allowed_digest = seen_digest
      WHERE server_id = $1 AND name = $2 AND seen_digest = $3 RETURNING name`,
    [storableText(serverId), storableText(name), storableText(digest)],
  )
  return rows.length > 0
}

/** Returns false when there is no such tool. */
export async function denyServerTool(queryable: Queryable, serverId: string, name: string): Promise<boolean> {
  const rows = await queryable.query(
    `UPDATE server_tools SET allowed = NULL, allowed_digest = NULL WHERE server_id = $1 AND name = $2 RETURNING name`,
    [storableText(serverId), storableText(name)],
  )
  return rows.length > 0
}

const PLACES = `m.enterprise_id AS "enterpriseId", m.role, ${departmentsAbove('m')} AS "departmentIds"`

/** The places of a user: the active enterprises of which the user is an active member. */
export function listToolHoldersOfUser(queryable: Queryable, userId: string): Promise<ToolHolder[]> {
  return queryable.query<ToolHolder>(
    `SELECT ${PLACES} FROM members m JOIN enterprises e ON e.id = m.enterprise_id
      WHERE m.user_id = $1 AND m.status = 'active' AND e.status = 'active' ORDER BY m.enterprise_id`,
    [userId],
  )
}

/** The place of a key of an enterprise: the department that it belongs to, and the role of the member that it was issued to. */
export function listToolHoldersOfKey(
  queryable: Queryable,
  key: { readonly enterpriseId: string; readonly departmentId: string | null; readonly memberId: string | null },
): Promise<ToolHolder[]> {
  return queryable.query<ToolHolder>(
    `SELECT ${PLACES} FROM (
        SELECT $1::text AS enterprise_id, coalesce($2::text, own.department_id) AS department_id, own.role
          FROM (SELECT 1) AS one LEFT JOIN members own ON own.enterprise_id = $1 AND own.id = $3 AND own.status = 'active'
      ) AS m`,
    [key.enterpriseId, key.departmentId, key.memberId],
  )
}

function definitionOf(text: string | null): ToolDefinition | null {
  return text === null ? null : (JSON.parse(text) as ToolDefinition)
}

/** An empty list is stored unsealed, so that nothing needs to be opened. */
function sealedHeaders(id: string, headers: Readonly<Record<string, string>>, seal: Seal): Buffer {
  if (Object.keys(headers).length === 0) return Buffer.alloc(0)
  return seal.seal(Buffer.from(JSON.stringify(headers)), contextOf(id))
}

function openedHeaders(id: string, headers: Buffer, seal: Seal): ToolServer['headers'] {
  if (headers.length === 0) return {}
  const opened = seal.open(headers, contextOf(id))
  return opened === null ? null : (JSON.parse(opened.toString('utf8')) as Record<string, string>)
}

/** The sealing context: a value that is sealed for one row opens in no other row. */
function contextOf(id: string): Buffer {
  return Buffer.from(`headers ${id}`)
}

function secretContextOf(id: string): Buffer {
  return Buffer.from(`client secret ${id}`)
}
