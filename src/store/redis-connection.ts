import { Redis } from 'ioredis'

const COMMAND_TIMEOUT_MS = 100
const CONNECT_TIMEOUT_MS = 500
const LONGEST_RETRY_MS = 2_000

export interface RedisConnection {
  /** Milliseconds of one round trip; rejects at once while there is no connection, and after 100 ms in any case. */
  ping(): Promise<number>
  close(): void
}

/**
 * A connection that never holds anyone up: nothing is queued while it is away, nothing is sent again after it broke (a lost
 * reply would count twice), every command has a deadline. Reconnects by itself.
 */
export function openRedis(url: string, onError: (error: Error) => void): RedisConnection {
  const redis = new Redis(url, {
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    commandTimeout: COMMAND_TIMEOUT_MS,
    connectTimeout: CONNECT_TIMEOUT_MS,
    retryStrategy: (attempt) => Math.min(attempt * 50, LONGEST_RETRY_MS),
  })
  redis.on('error', onError)
  return {
    ping: async () => {
      const startMs = performance.now()
      await redis.ping()
      return performance.now() - startMs
    },
    close: () => {
      redis.disconnect()
    },
  }
}
