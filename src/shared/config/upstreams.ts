import type { TargetQuirks } from '../core/codec.ts'
import type { UpstreamDialectName } from '../core/endpoint.ts'
import { SERVICE_NAMES } from '../core/service.ts'
import type { Services } from '../core/service.ts'
import type { AuthStyle, Provider, UpstreamKey, UpstreamTimeouts } from '../core/snapshot.ts'
import { parseBaseUrl } from './address.ts'
import { attempt, pathText, type Fail, type Path } from './config-error.ts'
import { googleCredential } from './google-credential.ts'
import { knownProvider } from './providers/known.ts'
import type { KnownProvider, ProviderModel } from './providers/provider.ts'
import { quirksOf } from './quirks.ts'
import { redacting } from './redact.ts'
import { DEFAULT_TIMEOUTS, DIALECTS, type UpstreamEntry } from './schema.ts'
import { asTheUpstream, defaultServices, plainly, servicesOf } from './services.ts'
import type { UpstreamConfig, UpstreamModel } from './shape.ts'

const DEFAULT_CONCURRENCY = 1000
const DEFAULT_AUTH: Readonly<Record<UpstreamDialectName, AuthStyle>> = {
  'openai-chat': 'bearer',
  'anthropic-messages': 'x-api-key',
  'anthropic-vertex': 'google',
  gemini: 'x-goog-api-key',
  'bedrock-converse': 'aws',
  'bedrock-invoke': 'aws',
  'cohere-chat': 'bearer',
}
const VERTEX_PLACE = /^https?:\/\/[^/]+\/v1\/projects\/[^/]+\/locations\/[^/]+$/
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
// eslint-disable-next-line no-control-regex -- control characters are what a header value must not hold
export const HEADER_VALUE = /^[^\u0000-\u0008\u000a-\u001f\u007f]*$/
const OWN_HEADERS = new Set([
  'host',
  'content-length',
  'transfer-encoding',
  'connection',
  'content-type',
  'te',
  'upgrade',
])

/**
 * The upstreams of the file, after the checks that the schema cannot make.
 * @param isSound whether the schema accepts the entry at a path
 */
export function resolveUpstreams(
  entries: readonly UpstreamEntry[],
  defaults: UpstreamTimeouts,
  fail: Fail,
  isSound: (path: Path) => boolean = () => true,
): UpstreamConfig[] {
  const upstreamIds = new Set<string>()
  const keyIds = new Set<string>()
  return entries.flatMap((entry, index) => {
    const path: Path = ['upstreams', index]
    return isSound(path) ? attempt(fail, () => [resolveOne(entry, path, index)], []) : []
  })

  function resolveOne(entry: UpstreamEntry, path: Path, index: number): UpstreamConfig {
    attempt(
      fail,
      () => {
        if (upstreamIds.has(entry.id)) fail([...path, 'id'], `upstreams[${index}].id is taken by another upstream`)
      },
      undefined,
    )
    upstreamIds.add(entry.id)
    const upstream = resolveUpstream(entry, path, defaults, fail)
    if (upstream.keys.length === 0 && entry.keys.length === 0) {
      fail([...path, 'keys'], `upstream ${entry.id} needs a key with a credential (or auth: none)`)
    }
    for (const [position, { id }] of upstream.keys.entries()) {
      if (keyIds.has(id)) {
        const keyPath = [...path, 'keys', position, 'id']
        fail(
          keyPath,
          `upstreams[${index}].keys[${position}].id is taken by another key; ids are unique over all upstreams`,
        )
      }
      keyIds.add(id)
    }
    return upstream
  }
}

/** One upstream, after the checks that the schema cannot make. It may have no key yet. */
export function resolveUpstream(
  entry: UpstreamEntry,
  path: Path,
  defaults: UpstreamTimeouts,
  fail: Fail,
): UpstreamConfig {
  const known = entry.provider === undefined ? undefined : knownProvider(entry.provider)
  const dialect =
    entry.dialect ??
    known?.dialect ??
    attempt(fail, () => missing('dialect', DIALECTS.join(' or '), path, fail), DIALECTS[0])
  const isKnownDialect = dialect === known?.dialect
  const auth = entry.auth ?? (isKnownDialect ? authOf(known, entry) : defaultAuth(dialect, entry.base_url))
  const timeouts = {
    connectMs: entry.timeouts?.connect_ms ?? defaults.connectMs,
    firstByteMs: entry.timeouts?.first_byte_ms ?? defaults.firstByteMs,
    idleMs: entry.timeouts?.idle_ms ?? defaults.idleMs,
    totalMs: entry.timeouts?.total_ms ?? defaults.totalMs,
  }
  const baseUrl = attempt(fail, () => upstreamBaseUrl({ entry, known, dialect }, path, fail), '')
  const services = isKnownDialect ? knownServices(known, baseUrl) : defaultServices(dialect, baseUrl)
  return {
    id: entry.id,
    name: entry.name ?? entry.id,
    dialect,
    baseUrl,
    auth,
    headers: resolveHeaders(entry.headers, auth, path, fail),
    ...attempt(fail, () => apiVersionOf(entry, dialect, path, fail), {}),
    keys: resolveKeys(entry, auth, path, fail),
    timeouts,
    billsAfterDisconnect: entry.bills_after_disconnect,
    ...healthCheckOf(entry),
    ...(known === undefined ? {} : { profile: known.id }),
    services: servicesOf(entry.services, entry.auth === undefined ? services : asTheUpstream(services)),
    ...conversationsOf(isKnownDialect ? known : undefined),
    ...targetOf({ ...(isKnownDialect ? known.quirks : {}), ...quirksOf(entry.quirks) }),
    models: attempt(fail, () => resolveModels(entry, known, path, fail), []),
  }
}

function healthCheckOf({ health_check: check }: UpstreamEntry): Pick<Provider, 'healthCheck'> {
  if (check === undefined) return {}
  return {
    healthCheck: { intervalMs: check.interval_ms, timeoutMs: check.timeout_ms, path: check.path ?? null },
  }
}

function apiVersionOf(
  { api_version: apiVersion }: UpstreamEntry,
  dialect: UpstreamDialectName,
  path: Path,
  fail: Fail,
): Pick<Provider, 'apiVersion'> {
  if (apiVersion === undefined) return {}
  if (dialect !== 'openai-chat') {
    fail([...path, 'api_version'], `${pathText([...path, 'api_version'])} is for upstreams of the dialect openai-chat`)
  }
  return { apiVersion }
}

/** The services of a known provider at this address. */
export function knownServices({ dialect, services }: KnownProvider, baseUrl: string): Services {
  return services ?? (dialect === 'openai-chat' ? {} : defaultServices(dialect, baseUrl))
}

export function conversationsOf(known: KnownProvider | undefined): Pick<Provider, 'converses'> {
  return known?.converses === undefined ? {} : { converses: known.converses }
}

/** A self-hosted server gets a credential only when the entry has one. */
function authOf(known: KnownProvider, entry: UpstreamEntry): AuthStyle {
  return known.selfHosted && entry.keys.length === 0 ? 'none' : known.auth
}

/** On Vertex AI, Gemini too takes access tokens of Google. */
function defaultAuth(dialect: UpstreamDialectName, baseUrl = ''): AuthStyle {
  return dialect === 'gemini' && VERTEX_PLACE.test(baseUrl.replace(/\/+$/, '')) ? 'google' : DEFAULT_AUTH[dialect]
}

export function targetOf(quirks: TargetQuirks): Pick<Provider, 'target'> {
  return Object.keys(quirks).length === 0 ? {} : { target: quirks }
}

function missing(name: string, allowed: string, path: Path, fail: Fail): never {
  return fail([...path, name], `${pathText([...path, name])} is missing; it must be ${allowed}, or give a provider`)
}

interface Described {
  readonly entry: UpstreamEntry
  readonly known: KnownProvider | undefined
  readonly dialect: UpstreamDialectName
}

function upstreamBaseUrl({ entry, known, dialect }: Described, path: Path, fail: Fail): string {
  if (entry.base_url === undefined) {
    if (known === undefined) return missing('base_url', 'an address that begins with http:// or https://', path, fail)
    if (known.baseUrl !== null) return known.baseUrl
    return fail(
      [...path, 'base_url'],
      `${pathText([...path, 'base_url'])} is missing: ${known.name} has no common address`,
    )
  }
  const parsed = parseBaseUrl(entry.base_url)
  if ('reason' in parsed) return fail([...path, 'base_url'], `base_url of upstream ${entry.id} ${parsed.reason}`)
  const lack = lackOfAddress(dialect, parsed.url)
  if (lack !== null) fail([...path, 'base_url'], `base_url of upstream ${entry.id} ${lack}`)
  const suffix = /\/(chat\/completions|messages)$/.exec(parsed.url)?.[0]
  if (suffix) fail([...path, 'base_url'], `base_url of upstream ${entry.id} must not end in ${suffix}; it is appended`)
  return parsed.url
}

/** The part that an address lacks for calls of the dialect; null: none. */
export function lackOfAddress(dialect: UpstreamDialectName, url: string): string | null {
  if (dialect !== 'anthropic-vertex' || VERTEX_PLACE.test(url)) return null
  return 'must name project and location: https://LOCATION-aiplatform.googleapis.com/v1/projects/PROJECT/locations/LOCATION'
}

/** Headers of each request, with lower-case names. */
export function resolveHeaders(
  headers: Readonly<Record<string, string>>,
  auth: AuthStyle,
  path: Path,
  fail: Fail,
): Readonly<Record<string, string>> {
  const resolved: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    attempt(fail, () => resolveHeader(name, value), undefined)
  }
  return redacting(resolved, Object.keys(resolved))

  function resolveHeader(name: string, value: string): void {
    const lower = name.toLowerCase()
    const at = [...path, 'headers', name]
    if (!HEADER_NAME.test(name) || lower === '__proto__')
      fail(at, 'the name of a header may hold letters, digits and "-"')
    if (OWN_HEADERS.has(lower)) fail(at, `the header ${lower} is set by the gateway and cannot be configured`)
    if (auth !== 'none' && (lower === 'authorization' || lower === 'x-api-key')) {
      fail(at, `the header ${lower} belongs to the credential; use keys, or auth: none`)
    }
    if (!HEADER_VALUE.test(value))
      fail(at, `the value of header ${lower} must not hold line breaks or control characters`)
    if (lower in resolved) fail(at, `the header ${lower} is given twice`)
    resolved[lower] = value
  }
}

function resolveKeys(entry: UpstreamEntry, auth: AuthStyle, path: Path, fail: Fail): UpstreamKey[] {
  if (auth === 'none' && entry.keys.length === 0) return [upstreamKey(`${entry.id}-1`, '')]
  return entry.keys.flatMap((key, index) => attempt(fail, () => [resolveKey(key, index)], []))

  function resolveKey(key: UpstreamEntry['keys'][number], index: number): UpstreamKey {
    const credential = auth === 'google' ? googleCredential(key.credential) : key.credential
    if (auth !== 'google' && key.credential.trimStart().startsWith('{')) {
      fail([...path, 'keys', index, 'credential'], 'the JSON of a service account needs auth: google')
    }
    if (typeof credential !== 'string') {
      return fail([...path, 'keys', index, 'credential'], `the JSON of a service account ${credential.reason}`)
    }
    if (!HEADER_VALUE.test(credential) || credential.trim() !== credential) {
      fail([...path, 'keys', index, 'credential'], 'a credential must not hold line breaks or begin or end with blanks')
    }
    const id = key.id ?? `${entry.id}-${index + 1}`
    return upstreamKey(id, credential, {
      name: key.name ?? id,
      enabled: key.enabled,
      weight: key.weight,
      priority: entry.priority + key.priority,
      maxConcurrency: key.max_concurrency,
    })
  }
}

export function upstreamKey(id: string, credential: string, rest: Partial<UpstreamKey> = {}): UpstreamKey {
  const defaults = { name: id, enabled: true, weight: 1, priority: 0, maxConcurrency: DEFAULT_CONCURRENCY }
  return redacting({ ...defaults, ...rest, id, credential }, ['credential'])
}

type ModelEntry = NonNullable<UpstreamEntry['models']>[number]

function resolveModels(
  entry: UpstreamEntry,
  known: KnownProvider | undefined,
  path: Path,
  fail: Fail,
): UpstreamModel[] {
  const seen = new Set<string>()
  if (entry.models === undefined) {
    if (known === undefined) return missing('models', 'a list of one item or more', path, fail)
    return known.models.map((model) => providerModel(model, entry.id))
  }
  return entry.models.flatMap((model, index) => attempt(fail, () => [resolveModel(model, index)], []))

  function resolveModel(model: ModelEntry, index: number): UpstreamModel {
    const at = [...path, 'models', index]
    const { id, upstream_model, weight, priority, owned_by } =
      typeof model === 'string'
        ? { id: model, weight: 1, priority: 0, upstream_model: undefined, owned_by: undefined }
        : model
    const resolved = { id, upstreamModel: upstream_model ?? id, weight, priority, ownedBy: owned_by ?? entry.id }
    if (/\*./.test(id) || /\*./.test(resolved.upstreamModel))
      fail(at, 'a "*" may only be the last character of a model id')
    if (resolved.upstreamModel.endsWith('*') && !id.endsWith('*')) {
      fail(at, 'upstream_model may end in "*" only when the id does')
    }
    const pair = JSON.stringify([id, resolved.upstreamModel])
    if (seen.has(pair)) fail(at, `upstream ${entry.id} lists this model twice`)
    seen.add(pair)
    return resolved
  }
}

export function providerModel(model: ProviderModel, ownedBy: string): UpstreamModel {
  const { id, upstreamModel } = typeof model === 'string' ? { id: model, upstreamModel: model } : model
  return { id, upstreamModel, weight: 1, priority: 0, ownedBy }
}

/** The built-in simulator on `port` as upstreams: one for each dialect it speaks. */
export function simulatorUpstreams(port: number): UpstreamConfig[] {
  const simulator = (id: string, models: readonly string[]) => ({
    id,
    name: 'Simulator',
    baseUrl: `http://127.0.0.1:${port}/v1`,
    headers: {},
    keys: [upstreamKey(`${id}-1`, 'simulator', { maxConcurrency: 100_000 })],
    timeouts: DEFAULT_TIMEOUTS,
    billsAfterDisconnect: false,
    models: models.map((model) => ({ id: model, upstreamModel: model, weight: 1, priority: 0, ownedBy: 'simulator' })),
  })
  return [
    {
      ...simulator('simulator-chat', ['sim-gpt', 'sim-gpt-mini', 'sim-embed', 'sim-rerank', 'sim-image', 'sim-video']),
      dialect: 'openai-chat',
      auth: 'bearer',
      services: plainly(...SERVICE_NAMES),
    },
    { ...simulator('simulator-messages', ['sim-claude']), dialect: 'anthropic-messages', auth: 'x-api-key' },
  ]
}
