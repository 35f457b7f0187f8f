import { attempt } from './config-error.ts'
import type { Fail } from './config-error.ts'
import { redacting } from './redact.ts'
import type { ConfigFile } from './schema.ts'
import type { RedisAddress, RedisConfig, RedisHost } from './shape.ts'

const SENTINEL_PORT = 26_379
const CLUSTER_PORT = 6_379

/** The address of Redis (url, sentinels or cluster), and the mode of limits while Redis is away. */
export function resolveRedis(raw: ConfigFile['redis'], fail: Fail): RedisConfig {
  const limits = raw.degraded_limits
  return {
    address: attempt(fail, () => resolveAddress(raw, fail), null),
    keyPrefix: raw.key_prefix,
    degraded: {
      default: raw.degraded,
      requestsPerMinute: limits.requests_per_minute ?? null,
      tokensPerMinute: limits.tokens_per_minute ?? null,
      concurrency: limits.concurrency ?? null,
      upstreamSlots: limits.upstream_slots ?? null,
    },
  }
}

function resolveAddress(raw: ConfigFile['redis'], fail: Fail): RedisAddress | null {
  const { url, sentinels, cluster } = raw
  if ([url, sentinels, cluster].filter((way) => way !== undefined).length > 1) {
    return fail(['redis'], 'redis may have only one of url, sentinels and cluster')
  }
  if (url !== undefined) return redacting<RedisAddress & { kind: 'single' }>({ kind: 'single', url }, ['url'])
  const login = { username: raw.username ?? null, password: raw.password ?? null, tls: raw.tls }
  if (sentinels !== undefined) {
    const hosts = sentinels.map((text) => hostOf(text, SENTINEL_PORT))
    const sentinelPassword = raw.sentinel_password ?? null
    const address = { kind: 'sentinel', name: raw.master_name, hosts, sentinelPassword, ...login } as const
    return redacting(address, ['password', 'sentinelPassword'])
  }
  if (cluster === undefined) return null
  return redacting<RedisAddress & { kind: 'cluster' }>(
    { kind: 'cluster', hosts: cluster.map((text) => hostOf(text, CLUSTER_PORT)), ...login },
    ['password'],
  )
}

function hostOf(text: string, defaultPort: number): RedisHost {
  const [host = '', port] = text.split(':')
  return { host, port: port === undefined ? defaultPort : Number(port) }
}
