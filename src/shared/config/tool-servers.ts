import { createHash } from 'node:crypto'
import { GatewayError } from '../core/errors.ts'
import { OWN_SERVER } from '../core/tool-server.ts'
import type { ToolAccessRule, ToolServer, ToolServerAddress } from '../core/tool-server.ts'
import type { UpstreamReach } from '../core/upstream-reach.ts'
import { parseServerUrl } from './address.ts'
import { attempt, ConfigError, type Fail, type Path } from './config-error.ts'
import { readDocument } from './openapi-document.ts'
import { redacting } from './redact.ts'
import type { ToolServerEntry } from './schema.ts'
import { resolveHeaders } from './upstreams.ts'

/** A scope of OAuth (RFC 6749). */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+$/

/** The upstream servers of tools of the file, after the checks that the schema cannot make. */
export function resolveToolServers(
  entries: readonly ToolServerEntry[],
  fail: Fail,
  isSound: (path: Path) => boolean,
): ToolServer[] {
  const ids = new Set<string>()
  return entries.flatMap((entry, index) => {
    const path: Path = ['mcp', 'servers', index]
    return isSound(path) ? attempt(fail, () => [resolveOne(entry, path)], []) : []
  })

  function resolveOne(entry: ToolServerEntry, path: Path): ToolServer {
    if (entry.id === OWN_SERVER) {
      fail([...path, 'id'], `${OWN_SERVER} is the name of the gateway's own tools: choose another id`)
    }
    if (ids.has(entry.id)) fail([...path, 'id'], `the id ${entry.id} is taken by another tool server`)
    ids.add(entry.id)
    const headers = resolveHeaders(entry.headers ?? {}, 'none', path, fail)
    const place = placeOf(entry, path, fail)
    const oauth = checkOAuth({ ...entry, place, headers }, path, fail)
    const server: ToolServer = {
      id: entry.id,
      place,
      headers,
      timeoutMs: entry.timeout_ms,
      priceMicro: entry.price_micro,
      enabled: entry.enabled,
      access: entry.access.map(toolAccessRule),
      allowAllTools: entry.allow_all_tools,
      isInteractive: entry.interactive,
      samplingModel: entry.sampling_model ?? null,
      ...oauth,
      source: 'file',
    }
    return redacting(server, ['headers', 'place', 'clientSecret'])
  }
}

function placeOf(entry: ToolServerEntry, path: Path, fail: Fail): ToolServer['place'] {
  const { url, transport = 'http', command, args = [], env = {}, cwd = null, openapi } = entry
  if ((url === undefined) === (command === undefined)) {
    return fail(path, `tool server ${entry.id} needs either a url or a command`)
  }
  if (command !== undefined) {
    if (openapi !== undefined) fail([...path, 'openapi'], 'openapi is for an HTTP API with a url, not for a program')
    return { command, args, env, cwd }
  }
  const parsed = parseServerUrl(url ?? '')
  if ('reason' in parsed) return fail([...path, 'url'], `the url of ${entry.id} ${parsed.reason}`)
  if (openapi === undefined) return { url: parsed.url, transport }
  if (transport === 'sse') fail([...path, 'transport'], 'transport must not be set with openapi: an HTTP API has none')
  return { url: parsed.url, transport: 'openapi', document: documentOf(openapi, [...path, 'openapi'], fail) }
}

/** An operation that cannot be a tool is found when the tools are listed. */
function documentOf(text: string, path: Path, fail: Fail): NonNullable<ToolServerAddress['document']> {
  try {
    readDocument(text, '/openapi')
  } catch (cause) {
    fail(path, cause instanceof GatewayError ? cause.message : 'the OpenAPI document cannot be read')
  }
  return { digest: createHash('sha256').update(text).digest('hex'), leftOut: [] }
}

/** The OpenAPI documents of servers of the file, by server. */
export function toolServerDocuments(
  entries: readonly ToolServerEntry[],
  isSound: (path: Path) => boolean,
): ReadonlyMap<string, string> {
  const sound = entries.filter((_, index) => isSound(['mcp', 'servers', index]))
  return new Map(sound.flatMap(({ id, openapi }) => (openapi === undefined ? [] : [[id, openapi] as const])))
}

/** A rule in the form of the file and of the API. */
export function toolAccessRule(rule: ToolServerEntry['access'][number]): ToolAccessRule {
  const { everyone, role, enterprise_id: enterpriseId, department_id: departmentId, key_id: keyId } = rule
  return {
    ...(everyone === undefined ? {} : { everyone }),
    ...(role === undefined ? {} : { role }),
    ...(enterpriseId === undefined ? {} : { enterpriseId }),
    ...(departmentId === undefined ? {} : { departmentId }),
    ...(keyId === undefined ? {} : { keyId }),
  }
}

/** The authorisation of users, in the form of the file and of the API. */
export interface OAuthEntry {
  readonly auth: 'none' | 'oauth'
  readonly oauth_client_id?: string | null | undefined
  readonly oauth_client_secret?: string | null | undefined
  readonly oauth_scopes?: readonly string[] | undefined
}

function checkOAuth(
  entry: OAuthEntry & Pick<ToolServer, 'place'> & { readonly headers: Readonly<Record<string, string>> },
  path: Path,
  fail: Fail,
): Pick<ToolServer, 'oauth' | 'clientSecret'> {
  const { auth, oauth_client_id: clientId = null, oauth_client_secret: clientSecret = null, place, headers } = entry
  const { oauth_scopes: scopes = [] } = entry
  if (auth === 'none') {
    if (clientId !== null) fail([...path, 'oauth_client_id'], 'oauth_client_id needs auth: oauth')
    if (clientSecret !== null) fail([...path, 'oauth_client_secret'], 'oauth_client_secret needs auth: oauth')
    if (scopes.length > 0) fail([...path, 'oauth_scopes'], 'oauth_scopes needs auth: oauth')
    return { oauth: null, clientSecret: null }
  }
  if (!('transport' in place) || place.transport === 'openapi') {
    fail([...path, 'auth'], 'auth: oauth is for tool servers with a url: neither for programs, nor for HTTP APIs')
  }
  if (Object.hasOwn(headers, 'authorization')) {
    fail([...path, 'headers', 'authorization'], 'the header authorization belongs to the user with auth: oauth')
  }
  if (clientSecret !== null && clientId === null) {
    fail([...path, 'oauth_client_secret'], 'oauth_client_secret needs oauth_client_id')
  }
  const bad = scopes.find((scope) => !SCOPE.test(scope))
  if (bad !== undefined)
    fail([...path, 'oauth_scopes'], `oauth_scopes must be single scopes, not ${JSON.stringify(bad)}`)
  return { oauth: { clientId, scopes: [...scopes] }, clientSecret }
}

/** Checks the address, the headers and the authorisation of a server that an admin made. Throws ConfigError. */
export function checkStoredToolServer(
  place: ToolServerAddress,
  { headers, oauth }: { readonly headers: Readonly<Record<string, string>>; readonly oauth: OAuthEntry },
  reach: UpstreamReach,
): Pick<ToolServer, 'oauth' | 'clientSecret'> & {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
} {
  const parsed = parseServerUrl(place.url)
  if ('reason' in parsed) return refuse(['url'], `url ${parsed.reason}`)
  const refusal = reach.refusalOf(new URL(parsed.url))
  if (refusal !== null) return refuse(['url'], `url ${refusal}`)
  // A copy: what the configuration resolves does not show its values in JSON.
  const sound = { ...resolveHeaders(headers, 'none', [], refuse) }
  return { url: parsed.url, headers: sound, ...checkOAuth({ ...oauth, place, headers: sound }, [], refuse) }
}

function refuse(path: Path, message: string): never {
  throw new ConfigError(message, {}, path)
}
