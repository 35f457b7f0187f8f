import { lookup as systemLookup } from 'node:dns'
import type { LookupAddress, LookupOptions } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { LRUCache } from 'lru-cache'

const KEEP_MS = 30_000
const MAX_HOSTS = 1_000

/** A `lookup` for sockets that caches answers for 30 seconds: the system's resolver has only a few threads. */
export function createCachedLookup(): LookupFunction {
  const known = new LRUCache<string, LookupAddress[]>({ max: MAX_HOSTS, ttl: KEEP_MS })
  return (hostname: string, options: LookupOptions, callback) => {
    const key = `${hostname} ${options.family ?? 0}`
    const found = known.get(key)
    const answer = (addresses: LookupAddress[]): void => {
      const [first] = addresses
      if (options.all === true) callback(null, addresses)
      else callback(null, first?.address ?? '', first?.family ?? 4)
    }
    if (found !== undefined) {
      process.nextTick(answer, found)
      return
    }
    systemLookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) {
        callback(error, '', 0)
        return
      }
      known.set(key, addresses)
      answer(addresses)
    })
  }
}
