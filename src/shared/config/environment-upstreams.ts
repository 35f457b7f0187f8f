import type { UpstreamTimeouts } from '../core/snapshot.ts'
import { parseBaseUrl } from './address.ts'
import { attempt, ConfigError } from './config-error.ts'
import type { Fail } from './config-error.ts'
import type { Env } from './env.ts'
import { googleCredential } from './google-credential.ts'
import { KNOWN_PROVIDERS } from './providers/known.ts'
import type { KnownProvider } from './providers/provider.ts'
import { API_VERSION } from './schema.ts'
import type { UpstreamConfig } from './shape.ts'
import {
  HEADER_VALUE,
  conversationsOf,
  knownServices,
  lackOfAddress,
  providerModel,
  targetOf,
  upstreamKey,
} from './upstreams.ts'

/**
 * Upstreams for the credentials of well-known providers in the environment, and for addresses of self-hosted servers. Leaves
 * out an id that `declared` has, and a credential that `declared` uses under another id: the file then decides its use.
 */
export function environmentUpstreams(
  env: Env,
  declared: readonly UpstreamConfig[],
  timeouts: UpstreamTimeouts,
  fail: Fail,
): UpstreamConfig[] {
  const ids = new Set(declared.flatMap(({ id, keys }) => [id, ...keys.map((key) => key.id)]))
  const used = new Set(declared.flatMap(({ keys }) => keys.map((key) => key.credential)))
  return KNOWN_PROVIDERS.filter(({ id }) => !ids.has(id)).flatMap((provider) =>
    attempt(fail, () => upstreamsOf(provider), []),
  )

  function upstreamsOf(provider: KnownProvider): UpstreamConfig[] {
    const credentials = environmentCredentials(provider, env, used)
    const baseUrl = providerBaseUrl(provider, env)
    const needsNone = provider.selfHosted === true && nonEmpty(env, `${provider.prefix}_BASE_URL`) !== null
    if (baseUrl === null || (credentials.length === 0 && !needsNone)) return []
    const upstream: UpstreamConfig = {
      id: provider.id,
      name: provider.name,
      dialect: provider.dialect,
      baseUrl,
      ...apiVersionOf(provider, env),
      auth: credentials.length === 0 ? 'none' : provider.auth,
      headers: {},
      keys: (credentials.length === 0 ? [''] : credentials).map((credential, index) =>
        upstreamKey(`${provider.id}-${index + 1}`, credential),
      ),
      timeouts,
      billsAfterDisconnect: false,
      profile: provider.id,
      services: knownServices(provider, baseUrl),
      ...conversationsOf(provider),
      ...targetOf(provider.quirks ?? {}),
      models: provider.models.map((model) => providerModel(model, provider.id)),
    }
    return [upstream]
  }
}

export interface UnusedCredential {
  readonly providerId: string
  /** The variable that holds it, and the one that is missing. */
  readonly variable: string
  readonly addressVariable: string
}

/** Credentials of the environment that make no upstream: their provider has another address for each customer, and none is given. */
export function credentialsWithoutAddress(env: Env, upstreams: readonly UpstreamConfig[]): UnusedCredential[] {
  const used = new Set(upstreams.flatMap(({ keys }) => keys.map((key) => key.credential)))
  return KNOWN_PROVIDERS.filter(
    (provider) =>
      provider.baseUrl === null &&
      nonEmpty(env, `${provider.prefix}_BASE_URL`) === null &&
      environmentCredentials(provider, env, used).length > 0,
  ).map(({ id, prefix }) => ({
    providerId: id,
    variable: `${prefix}_API_KEY`,
    addressVariable: `${prefix}_BASE_URL`,
  }))
}

/** Credentials of the environment that are not in `used`, each once. */
function environmentCredentials({ prefix, auth }: KnownProvider, env: Env, used: ReadonlySet<string>): string[] {
  const variable = `${prefix}_API_KEY`
  const text = (env[variable] ?? '').trim()
  // The JSON of a service account contains commas: it is one credential.
  const isAccount = auth === 'google' && text.startsWith('{')
  const given = isAccount ? [serviceAccount(text, variable)] : text.split(',')
  const credentials = given.map((credential) => credential.trim())
  const unused = credentials.filter((credential) => credential !== '' && !used.has(credential))
  if (unused.some((credential) => !HEADER_VALUE.test(credential))) {
    throw new ConfigError('must not hold control characters', { variable })
  }
  return [...new Set(unused)]
}

function serviceAccount(text: string, variable: string): string {
  const credential = googleCredential(text)
  if (typeof credential === 'string') return credential
  throw new ConfigError(`the JSON of a service account ${credential.reason}`, { variable })
}

function apiVersionOf({ prefix, apiVersions }: KnownProvider, env: Env): Pick<UpstreamConfig, 'apiVersion'> {
  const variable = `${prefix}_API_VERSION`
  const apiVersion = apiVersions === true ? nonEmpty(env, variable) : null
  if (apiVersion === null) return {}
  if (!API_VERSION.test(apiVersion)) throw new ConfigError('must be a version such as 2024-10-21', { variable })
  return { apiVersion }
}

/** Null: each customer of the provider has another address, and the environment does not give it. */
function providerBaseUrl(provider: KnownProvider, env: Env): string | null {
  const variable = `${provider.prefix}_BASE_URL`
  const text = nonEmpty(env, variable)
  if (text === null) return provider.baseUrl
  const parsed = parseBaseUrl(text)
  if ('reason' in parsed) throw new ConfigError(`the address ${parsed.reason}`, { variable })
  const lack = lackOfAddress(provider.dialect, parsed.url)
  if (lack !== null) throw new ConfigError(`the address ${lack}`, { variable })
  const { basePath = '' } = provider
  return parsed.url.endsWith(basePath) ? parsed.url : parsed.url + basePath
}

function nonEmpty(env: Env, variable: string): string | null {
  const text = env[variable]
  return text === undefined || text === '' ? null : text
}
