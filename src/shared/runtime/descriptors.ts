import { readFileSync } from 'node:fs'

const LIMITS_FILE = '/proc/self/limits'
const OPEN_FILES = /^Max open files\s+(\d+|unlimited)/m
const UNLIMITED = 1_048_576
/** Of systems that do not tell: what the strictest of them allows a process by default. */
const UNTOLD = 10_240

/** Journal, log, listeners, event loops, DNS, the channels to other processes: a front without clients has 35 open. */
const RESERVED = 64
/** Each thread has an event loop. */
const RESERVED_PER_THREAD = 8

/** How many files and sockets this process may have open. */
export function descriptorLimit(): number {
  let told: string | undefined
  try {
    told = OPEN_FILES.exec(readFileSync(LIMITS_FILE, 'utf8'))?.[1]
  } catch {
    return UNTOLD
  }
  if (told === 'unlimited') return UNLIMITED
  return told === undefined ? UNTOLD : Number(told)
}

/** How many clients a front may have, and as many calls to upstreams: each client may need one. */
export function maxConnections(limit: number, workerThreads: number): number {
  return Math.max(1, Math.floor((limit - RESERVED - RESERVED_PER_THREAD * workerThreads) / 2))
}
