import { Cluster, Redis } from 'ioredis'
import type { RedisAddress } from '../../shared/config/shape.ts'

const CONNECT_TIMEOUT_MS = 500
/** An abandoned connection is closed at once, without waiting for the server. */
const DISCONNECT_TIMEOUT_MS = 1

export type RedisClient = Redis | Cluster

/**
 * Creates a client that queues no calls while it is disconnected, resends nothing, and does not reconnect by itself after a broken
 * connection: its creator makes another client.
 */
export function createRedisClient(address: RedisAddress): RedisClient {
  const options = {
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false,
    maxRetriesPerRequest: 0,
    connectTimeout: CONNECT_TIMEOUT_MS,
    disconnectTimeout: DISCONNECT_TIMEOUT_MS,
    disableClientInfo: true,
    enableReadyCheck: false,
    keepAlive: 10_000,
    protocol: 2,
    retryStrategy: null,
    reconnectOnError: null,
  } as const
  if (address.kind === 'single') return new Redis(address.url, options)
  const { username, password, tls } = address
  const login = {
    ...(username === null ? {} : { username }),
    ...(password === null ? {} : { password }),
    ...(tls ? { tls: {} } : {}),
  }
  if (address.kind === 'sentinel') {
    return new Redis({
      ...options,
      ...login,
      name: address.name,
      sentinels: address.hosts.map(({ host, port }) => ({ host, port })),
      sentinelRetryStrategy: () => null,
      sentinelCommandTimeout: CONNECT_TIMEOUT_MS,
      enableTLSForSentinelMode: tls,
      ...(tls ? { sentinelTLS: {} } : {}),
      ...(address.sentinelPassword === null ? {} : { sentinelPassword: address.sentinelPassword }),
    })
  }
  const { retryStrategy: _, enableOfflineQueue, ...ofNodes } = options
  return new Cluster([...address.hosts], {
    enableOfflineQueue,
    enableReadyCheck: false,
    slotsRefreshTimeout: CONNECT_TIMEOUT_MS,
    slotsRefreshInterval: 5_000,
    clusterRetryStrategy: () => null,
    // Only the caller repeats a call without an answer, because only the caller knows whether that is safe.
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    retryDelayOnTryAgain: 20,
    redisOptions: { ...ofNodes, ...login },
  })
}
