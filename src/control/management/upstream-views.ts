import type { HealthCheckSettings } from '../../shared/core/health-check.ts'
import type { Static } from 'typebox'
import type { Upstream, UpstreamKey } from '../../shared/api/operations/upstreams.ts'
import type { UpstreamConfig } from '../../shared/config/shape.ts'
import type { StoredUpstreamKey } from '../../shared/config/stored.ts'
import type { Book, BookedUpstream, KeyState, UpstreamBook } from '../../shared/config/upstream-book.ts'
import { maskedCredential } from '../../shared/core/masked-credential.ts'
import type { UpstreamKey as ConfiguredKey } from '../../shared/core/snapshot.ts'

type ShownUpstream = Static<typeof Upstream>
type ShownKey = Static<typeof UpstreamKey>

/** All upstreams as admins see them: from the configuration, then from the store, then the simulator's. */
export function shownUpstreams(book: UpstreamBook, { upstreams }: Book): ShownUpstream[] {
  return [
    ...book.configured.map((upstream) => configured(upstream, 'file')),
    ...upstreams.map(booked),
    ...book.simulated.map((upstream) => configured(upstream, 'built-in')),
  ]
}

function configured(config: UpstreamConfig, source: 'file' | 'built-in'): ShownUpstream {
  return {
    ...resolved(config),
    id: config.id,
    source,
    enabled: true,
    state: 'active',
    problem: null,
    keys: config.keys.map((key) => configuredKey(key, source)),
    settings: null,
    created_at: null,
    updated_at: null,
  }
}

export function booked({ stored, state, problem, config, keyStates }: BookedUpstream): ShownUpstream {
  const { id, entry, headers, enabled, keys, createdAt, updatedAt } = stored
  return {
    ...(config === null ? unresolved(id, Object.keys(headers ?? {})) : resolved(config)),
    id,
    source: 'stored',
    enabled,
    state,
    problem,
    keys: keys.map((key) => storedKey(key, keyStates.get(key.id) ?? 'disabled')),
    settings: { ...entry },
    created_at: createdAt.toISOString(),
    updated_at: updatedAt.toISOString(),
  }
}

type Resolved = Omit<
  ShownUpstream,
  'id' | 'source' | 'enabled' | 'state' | 'problem' | 'keys' | 'settings' | 'created_at' | 'updated_at'
>

function resolved(config: UpstreamConfig): Resolved {
  const { timeouts, services = {}, models, healthCheck } = config
  return {
    name: config.name,
    provider: config.profile ?? null,
    dialect: config.dialect,
    base_url: config.baseUrl,
    api_version: config.apiVersion ?? null,
    auth: config.auth,
    header_names: Object.keys(config.headers),
    timeouts: {
      connect_ms: timeouts.connectMs,
      first_byte_ms: timeouts.firstByteMs,
      idle_ms: timeouts.idleMs,
      total_ms: timeouts.totalMs,
    },
    bills_after_disconnect: config.billsAfterDisconnect,
    health_check: healthCheck === undefined ? null : shownCheck(healthCheck),
    services: Object.entries(services).flatMap(([name, list]) => (list.length > 0 ? [name] : [])),
    models: models.map(({ id, upstreamModel, weight, priority, ownedBy }) => ({
      id,
      upstream_model: upstreamModel,
      weight,
      priority,
      owned_by: ownedBy,
    })),
  }
}

function shownCheck({ intervalMs, timeoutMs, path }: HealthCheckSettings): Resolved['health_check'] {
  return { interval_ms: intervalMs, timeout_ms: timeoutMs, path }
}

function unresolved(id: string, headerNames: string[]): Resolved {
  return {
    name: id,
    provider: null,
    dialect: null,
    base_url: null,
    api_version: null,
    auth: null,
    header_names: headerNames,
    timeouts: null,
    bills_after_disconnect: null,
    health_check: null,
    services: [],
    models: [],
  }
}

function configuredKey(key: ConfiguredKey, source: 'file' | 'built-in'): ShownKey {
  return {
    id: key.id,
    name: key.name,
    source,
    credential_masked: maskedCredential(key.credential),
    enabled: key.enabled,
    state: key.enabled ? 'active' : 'disabled',
    weight: key.weight,
    priority: key.priority ?? 0,
    max_concurrency: key.maxConcurrency,
    created_at: null,
    updated_at: null,
  }
}

function storedKey(key: StoredUpstreamKey, state: KeyState): ShownKey {
  return {
    id: key.id,
    name: key.name,
    source: 'stored',
    credential_masked: key.masked,
    enabled: key.enabled,
    state,
    weight: key.weight,
    priority: key.priority,
    max_concurrency: key.maxConcurrency,
    created_at: key.createdAt.toISOString(),
    updated_at: key.updatedAt.toISOString(),
  }
}
