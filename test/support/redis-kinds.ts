import { TestRedisCluster } from './redis-cluster.ts'
import { TestRedis } from './redis.ts'

/** A Redis in which gateways on several machines share their limits. */
export interface SharedRedis {
  /** The `redis` section of the configuration file. */
  readonly settings: Record<string, unknown>
  stop(): Promise<void>
}

export interface RedisKind {
  readonly kind: string
  readonly start: () => Promise<SharedRedis>
}

export const ONE_REDIS: RedisKind = {
  kind: 'one Redis',
  start: async () => {
    const redis = await TestRedis.start()
    return { settings: { url: redis.url }, stop: () => redis.stop() }
  },
}

export const REDIS_CLUSTER: RedisKind = {
  kind: 'a Redis Cluster of three masters',
  start: async () => {
    const cluster = await TestRedisCluster.start()
    return { settings: { cluster: cluster.addresses }, stop: () => cluster.stop() }
  },
}

export const REDIS_KINDS: readonly RedisKind[] = [ONE_REDIS, REDIS_CLUSTER]
