import { isDeepStrictEqual } from 'node:util'
import { isObject } from './is-object.ts'
import type { Config } from './shape.ts'

/** A line of the log names so many entries of a section at most. */
const MOST_NAMES = 20

/** Changes by a configuration that was read again. */
export interface ConfigChanges {
  /** The running configuration, with the changes that need no restart. */
  readonly config: Config
  /** Changes that a running gateway takes, as texts like `upstreams: added groq`. */
  readonly live: readonly string[]
  /** Keys whose new values count after a restart. */
  readonly needRestart: readonly string[]
  readonly isNewCertificate: boolean
}

/** Keys of the resolved configuration that the file has under another name. */
const NAMES: Readonly<Record<string, string>> = {
  registrationOpen: 'auth.registration',
  firstAdminPhone: 'auth.first_admin_phone',
  'signIn.consoleUrl': 'auth.console_url',
  'signIn.oidc': 'auth.oidc',
  'money.tenantTopup': 'wallet.tenant_topup',
  'money.allowUnpriced': 'wallet.allow_unpriced',
  'money.paymentSecret': 'wallet.payment_secret',
  'redis.address': 'redis',
  'redis.degraded.default': 'redis.degraded',
  'redis.degraded.requestsPerMinute': 'redis.degraded_limits.requests_per_minute',
  'redis.degraded.tokensPerMinute': 'redis.degraded_limits.tokens_per_minute',
  'redis.degraded.concurrency': 'redis.degraded_limits.concurrency',
  'redis.degraded.upstreamSlots': 'redis.degraded_limits.upstream_slots',
  'upstream.retryBudget.least': 'upstream.retry_budget_min',
  'upstream.retryBudget.share': 'upstream.retry_budget_percent',
  'mcp.documents': 'mcp.servers',
  'video.linkMs': 'video.link_ttl_ms',
  'video.repeatMs': 'video.repeat_window_ms',
  'video.idempotencyMs': 'video.idempotency_window_ms',
}

/** Keys, and beginnings of keys, that a running gateway takes. */
const TAKEN = ['upstream.timeouts.', 'upstreams', 'fallbacks', 'models', 'model_groups', 'keys']

function isTaken(name: string, keepsScheme: boolean): boolean {
  if (name.startsWith('server.tls.')) return keepsScheme
  return TAKEN.some((one) => (one.endsWith('.') ? name.startsWith(one) : name === one))
}

/**
 * Compares a configuration that was read again with the running one.
 * @param isOtherContent whether the files of the certificate have another content
 */
export function configChanges(running: Config, read: Config, isOtherContent: boolean): ConfigChanges {
  // To serve HTTPS in place of HTTP, or the other way round, the listener is another one.
  const keepsScheme = (running.server.tls === null) === (read.server.tls === null)
  const config: Config = {
    ...running,
    file: read.file,
    server: keepsScheme ? { ...running.server, tls: read.server.tls } : running.server,
    upstream: { ...running.upstream, timeouts: read.upstream.timeouts },
    upstreams: read.upstreams,
    fallbacks: read.fallbacks,
    models: read.models,
    modelGroups: read.modelGroups,
    keys: read.keys,
    shownSettings: running.shownSettings.map((setting) =>
      isTaken(setting.name, keepsScheme)
        ? (read.shownSettings.find(({ name }) => name === setting.name) ?? setting)
        : setting,
    ),
  }
  const isOther = isOtherContent || !isDeepStrictEqual(running.server.tls, read.server.tls)
  const isNewCertificate = keepsScheme && isOther
  const live = [
    ...listChanges('upstreams', running.upstreams, read.upstreams, ({ id }) => id),
    ...listChanges('keys', running.keys, read.keys, ({ name }) => name),
    ...listChanges('models', running.models, read.models, ({ id, provider }) =>
      provider === null ? id : `${id} of ${provider}`,
    ),
    ...listChanges('model_groups', running.modelGroups, read.modelGroups, ({ id }) => id),
    ...recordChanges('fallbacks', running.fallbacks, read.fallbacks),
    ...(isDeepStrictEqual(running.upstream.timeouts, read.upstream.timeouts) ? [] : ['upstream.timeouts: changed']),
    ...(isNewCertificate ? ['server.tls: new certificate'] : []),
  ]
  const needRestart = differences({ ...config, shownSettings: null }, { ...read, shownSettings: null }, [])
  return { config, live, needRestart, isNewCertificate }
}

function listChanges<Entry>(
  section: string,
  before: readonly Entry[],
  after: readonly Entry[],
  nameOf: (entry: Entry) => string,
): string[] {
  const [old, fresh] = [byName(before, nameOf), byName(after, nameOf)]
  const changes = recordChanges(section, old, fresh)
  // The order of upstreams and of facts counts.
  const isMoved = changes.length === 0 && !isDeepStrictEqual(before, after)
  return isMoved ? [`${section}: another order`] : changes
}

/** Entries that share a name are compared together. */
function byName<Entry>(entries: readonly Entry[], nameOf: (entry: Entry) => string): Record<string, readonly Entry[]> {
  const groups = new Map<string, Entry[]>()
  for (const entry of entries) groups.set(nameOf(entry), [...(groups.get(nameOf(entry)) ?? []), entry])
  return Object.fromEntries(groups)
}

function recordChanges(
  section: string,
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
): string[] {
  const names = (wanted: (name: string) => boolean): string =>
    bounded([...new Set([...Object.keys(before), ...Object.keys(after)])].filter(wanted))
  const isIn = (record: object, name: string): boolean => Object.hasOwn(record, name)
  const parts: ReadonlyArray<readonly [what: string, names: string]> = [
    ['added', names((name) => !isIn(before, name))],
    ['removed', names((name) => !isIn(after, name))],
    [
      'changed',
      names((name) => isIn(before, name) && isIn(after, name) && !isDeepStrictEqual(before[name], after[name])),
    ],
  ]
  return parts.flatMap(([what, list]) => (list === '' ? [] : [`${section}: ${what} ${list}`]))
}

function bounded(names: readonly string[]): string {
  const more = names.length - MOST_NAMES
  return more > 0 ? `${names.slice(0, MOST_NAMES).join(', ')} and ${more} more` : names.join(', ')
}

/** The keys that differ, as the file names them. */
function differences(a: unknown, b: unknown, path: readonly string[]): string[] {
  if (isDeepStrictEqual(a, b)) return []
  const resolved = path.join('.')
  if (NAMES[resolved] === undefined && isObject(a) && isObject(b)) {
    const names = [...new Set([...Object.keys(a), ...Object.keys(b)])]
    return names.flatMap((name) => differences(a[name], b[name], [...path, name]))
  }
  return [
    NAMES[resolved] ?? path.map((step) => step.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)).join('.'),
  ]
}
