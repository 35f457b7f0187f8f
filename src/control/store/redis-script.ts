import { createHash } from 'node:crypto'

export interface RedisScript {
  readonly source: string
  readonly sha1: string
}

/** A script with its digest, by which Redis knows it. This module loads no client: most gateways have no Redis. */
export function redisScript(source: string): RedisScript {
  return { source, sha1: createHash('sha1').update(source).digest('hex') }
}
