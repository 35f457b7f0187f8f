import type { Static } from 'typebox'
import type {
  Dashboard,
  KeyUsage as ShownKeyUsage,
  PLATFORM_STATS,
  Relay,
} from '../../shared/api/operations/platform-stats.ts'
import type { RelayState, UpstreamKeyState } from '../../shared/core/relay-state.ts'
import type { Queryable } from '../store/database.ts'
import { countPlatform, enterpriseNames, keyUsage, timings, upstreamUsage } from '../store/platform-stats.ts'
import type { KeyUsage, UpstreamUsage } from '../store/platform-stats.ts'
import { usageByGroup, usageSeries } from '../store/usage-stats.ts'
import type { UsageSums } from '../store/usage-stats.ts'
import type { Handlers } from './call.ts'
import { offsetOf, pageOf } from './pages.ts'
import { percentilesOf } from './percentiles.ts'
import { granularityOf, rangeOf } from './period.ts'
import { EVERYONE } from './log-scope.ts'
import { chosenZone, stretchesOf, sumsOf } from './stats-handlers.ts'

const DEFAULT_PERIOD = '7d'
/** The most models, and the most tenants, on the dashboard. */
const MOST = 10
/** This is more than there are different statuses: at most a hundred. */
const ALL_STATUSES = 1_000
/** This is more than there are times on the dashboard: at most ten thousand days. */
const ALL_TIMES = 20_000
const MINUTE_MS = 60_000

type UpstreamKey = Static<typeof Relay>['upstream_keys'][number]

/** Statistics of all users, for platform admins. They are read from the rollups. */
export function platformStatsHandlers(
  database: Queryable,
  relayState: () => RelayState,
): Handlers<keyof typeof PLATFORM_STATS> {
  return {
    adminDashboard: async ({ query: { period = DEFAULT_PERIOD, ...query } }) => {
      const range = rangeOf(period)
      const granularity = granularityOf(period)
      const stretches = stretchesOf(chosenZone(query, 'UTC'), granularity, range)
      const asked = { scope: EVERYONE, filter: {}, range }
      const [series, models, tenants, statuses, active] = await Promise.all([
        usageSeries(database, { ...asked, stretches, group: null, most: 1 }, ALL_TIMES),
        usageByGroup(database, { ...asked, group: 'model', most: MOST }),
        usageByGroup(database, { ...asked, group: 'enterprise', most: MOST }),
        usageByGroup(database, { ...asked, group: 'status', most: ALL_STATUSES }),
        countPlatform(database),
      ])
      const names = await enterpriseNames(
        database,
        tenants.map(({ group }) => group),
      )
      return {
        from: new Date(range.fromMs).toISOString(),
        to: new Date(range.toMs).toISOString(),
        granularity,
        totals: sumsOf(series),
        active: { ...active },
        series: series.map((row) => ({ time: new Date(row.atMs).toISOString(), ...sumsOf([row]) })),
        models: models.map((row) => ({ model: row.group === '' ? null : row.group, ...sumsOf([row]) })),
        tenants: tenants.map((row) => ({
          enterprise_id: row.group === '' ? null : row.group,
          name: names.get(row.group) ?? null,
          ...sumsOf([row]),
        })),
        errors: errorsOf(statuses),
      }
    },

    adminKeyStats: async ({ query }) => {
      const { period = DEFAULT_PERIOD, sort: order = 'requests', user_id: userId, enterprise_id: enterpriseId } = query
      const of = {
        userId: userId ?? null,
        enterpriseId: enterpriseId ?? null,
        granularity: granularityOf(period),
      }
      const { keys, total } = await keyUsage(database, rangeOf(period), of, { order, ...offsetOf(query) })
      return pageOf(keys, total, query, renderedKey)
    },

    adminRelayStats: async ({ query: { period = DEFAULT_PERIOD } }) => {
      const range = rangeOf(period)
      const [statuses, upstreams, taken] = await Promise.all([
        usageByGroup(database, {
          scope: EVERYONE,
          filter: {},
          range,
          group: 'status',
          most: ALL_STATUSES,
        }),
        upstreamUsage(database, range),
        timings(database, range),
      ])
      const { requests, prompt_tokens: prompt, completion_tokens: completion } = sumsOf(statuses)
      const minutes = (range.toMs - range.fromMs) / MINUTE_MS
      const now = relayState()
      return {
        from: new Date(range.fromMs).toISOString(),
        to: new Date(range.toMs).toISOString(),
        requests,
        success_rate: successRate(statuses),
        rpm: requests / minutes,
        tpm: (prompt + completion) / minutes,
        now: {
          rpm: now.requestsPerMinute,
          tpm: now.tokensPerMinute,
          waiting: now.waiting,
          fronts: now.fronts,
        },
        overhead_ms: percentilesOf(taken.overhead),
        ttft_ms: percentilesOf(taken.ttft),
        total_ms: percentilesOf(taken.total),
        upstream_keys: upstreamKeys(now.keys, upstreams),
      }
    },
  }
}

function errorsOf(statuses: ReadonlyArray<UsageSums & { readonly group: string }>): Static<typeof Dashboard>['errors'] {
  return statuses
    .filter(({ errors }) => errors > 0)
    .map(({ group, errors }) => ({ status: group === '0' ? null : Number(group), requests: errors }))
}

function renderedKey(key: KeyUsage): Static<typeof ShownKeyUsage> {
  return {
    id: key.id,
    name: key.name,
    key_masked: key.masked,
    status: key.status,
    user_id: key.userId,
    enterprise_id: key.enterpriseId,
    requests: key.requests,
    errors: key.errors,
    prompt_tokens: key.promptTokens,
    completion_tokens: key.completionTokens,
    cost: key.costMicro,
    last_used_at: key.lastUsedAt?.toISOString() ?? null,
  }
}

/** Null when no request counts for it. */
function successRate(statuses: ReadonlyArray<UsageSums & { readonly group: string }>): number | null {
  let good = 0
  let bad = 0
  for (const { group, requests } of statuses) {
    const status = Number(group)
    if (status >= 500 || status === 429 || status === 0) bad += requests
    else if (status < 400) good += requests
  }
  return shareOf(good, good + bad)
}

function shareOf(part: number, whole: number): number | null {
  return whole === 0 ? null : part / whole
}

/** The keys that are configured, and those that were removed but served requests. */
function upstreamKeys(states: readonly UpstreamKeyState[], used: readonly UpstreamUsage[]): UpstreamKey[] {
  const nameOf = (providerId: string, keyId: string): string => `${providerId}\0${keyId}`
  const stateOf = new Map(states.map((state) => [nameOf(state.providerId, state.keyId), state]))
  const usageOf = new Map(used.map((usage) => [nameOf(usage.providerId, usage.upstreamKeyId), usage]))
  const names = [...new Set([...stateOf.keys(), ...usageOf.keys()])].sort()
  return names.map((name) => {
    const [providerId = '', keyId = ''] = name.split('\0')
    return renderedUpstream(providerId, keyId, stateOf.get(name), usageOf.get(name))
  })
}

function renderedUpstream(
  providerId: string,
  keyId: string,
  state: UpstreamKeyState | undefined,
  usage: UpstreamUsage | undefined,
): UpstreamKey {
  const { requests = 0, errors = 0, ttftCount = 0, ttftUs = 0, totalUs = 0 } = usage ?? {}
  const meanMs = (sumUs: number, count: number): number | null => (count === 0 ? null : sumUs / count / 1000)
  return {
    provider_id: providerId,
    upstream_key_id: keyId,
    state: state?.state ?? 'unknown',
    slots_used: state?.slotsUsed ?? 0,
    slots_held: state?.slotsHeld ?? 0,
    cooling_seconds: state?.coolingSeconds ?? 0,
    calls: { ...state?.calls },
    requests,
    errors,
    aborted: usage?.aborted ?? 0,
    success_rate: shareOf(requests - errors, requests),
    prompt_tokens: usage?.promptTokens ?? 0,
    completion_tokens: usage?.completionTokens ?? 0,
    cached_tokens: usage?.cachedTokens ?? 0,
    cost: usage?.costMicro ?? 0,
    mean_ttft_ms: meanMs(ttftUs, ttftCount),
    mean_total_ms: meanMs(totalUs, requests),
  }
}
