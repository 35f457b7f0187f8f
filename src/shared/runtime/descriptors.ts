import { readFileSync } from 'node:fs'

const LIMITS_FILE = '/proc/self/limits'
const OPEN_FILES = /^Max open files\s+(\d+|unlimited)/m
const UNLIMITED = 1_048_576
/** For systems without /proc: the default limit of the strictest of them. */
const UNKNOWN_LIMIT = 10_240

/** For journal, log, listeners, event loops, DNS and channels to other processes: a front without clients has 35 open. */
const RESERVED = 64
/** For the event loop of each worker thread. */
const RESERVED_PER_THREAD = 8

/** How many files and sockets this process may have open. */
export function descriptorLimit(): number {
  let found: string | undefined
  try {
    found = OPEN_FILES.exec(readFileSync(LIMITS_FILE, 'utf8'))?.[1]
  } catch {
    return UNKNOWN_LIMIT
  }
  if (found === 'unlimited') return UNLIMITED
  return found === undefined ? UNKNOWN_LIMIT : Number(found)
}

/** The number of clients that a front may have. As many descriptors are for calls to upstreams: each client may need one. */
export function maxConnections(limit: number, workerThreads: number): number {
  return Math.max(1, Math.floor((limit - RESERVED - RESERVED_PER_THREAD * workerThreads) / 2))
}
