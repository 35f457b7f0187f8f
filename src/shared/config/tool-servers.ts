import type { ToolAccessRule, ToolServer } from '../core/tool-server.ts'
import type { UpstreamReach } from '../core/upstream-reach.ts'
import { parseServerUrl } from './address.ts'
import { attempt, ConfigError, type Fail, type Path } from './config-error.ts'
import { redacting } from './redact.ts'
import type { ToolServerEntry } from './schema.ts'
import { resolveHeaders } from './upstreams.ts'

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
    if (ids.has(entry.id)) fail([...path, 'id'], `the id ${entry.id} is taken by another tool server`)
    ids.add(entry.id)
    const headers = resolveHeaders(entry.headers ?? {}, 'none', path, fail)
    const server: ToolServer = {
      id: entry.id,
      place: placeOf(entry, path, fail),
      headers,
      timeoutMs: entry.timeout_ms,
      priceMicro: entry.price_micro,
      enabled: entry.enabled,
      access: entry.access.map(toolAccessRule),
      allowAllTools: entry.allow_all_tools,
      isInteractive: entry.interactive,
      samplingModel: entry.sampling_model ?? null,
      source: 'file',
    }
    return redacting(server, ['headers', 'place'])
  }
}

function placeOf(entry: ToolServerEntry, path: Path, fail: Fail): ToolServer['place'] {
  const { url, transport = 'http', command, args = [], env = {}, cwd = null } = entry
  if ((url === undefined) === (command === undefined)) {
    return fail(path, `tool server ${entry.id} needs either a url or a command`)
  }
  if (command !== undefined) return { command, args, env, cwd }
  const parsed = parseServerUrl(url ?? '')
  return 'reason' in parsed
    ? fail([...path, 'url'], `the url of ${entry.id} ${parsed.reason}`)
    : { url: parsed.url, transport }
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

/** Checks the address and the headers of a server that an admin made. Throws ConfigError. */
export function checkStoredToolServer(
  url: string,
  headers: Readonly<Record<string, string>>,
  reach: UpstreamReach,
): { readonly url: string; readonly headers: Readonly<Record<string, string>> } {
  const parsed = parseServerUrl(url)
  if ('reason' in parsed) return refuse(['url'], `url ${parsed.reason}`)
  const refusal = reach.refusalOf(new URL(parsed.url))
  if (refusal !== null) return refuse(['url'], `url ${refusal}`)
  // A copy: what the configuration resolves does not show its values in JSON.
  return { url: parsed.url, headers: { ...resolveHeaders(headers, 'none', [], refuse) } }
}

function refuse(path: Path, message: string): never {
  throw new ConfigError(message, {}, path)
}
