import { isIPv6 } from 'node:net'
import { LRUCache } from 'lru-cache'
import type { Clock } from '../../shared/runtime/clock.ts'

/** The number of wrong passwords without a wait, because people mistype. */
const FREE = 3
const FIRST_WAIT_MS = 1_000
const MOST_WAIT_MS = 15 * 60_000
/** After this time without a failure, the earlier failures are forgotten. */
const FORGET_MS = 60 * 60_000
const MOST_PAIRS = 100_000

interface Failures {
  readonly count: number
  readonly atMs: number
}

/**
 * Counts failed log-ins by pair of phone number and address. Each failure doubles the wait of its pair. The same phone number from
 * other addresses, and other phone numbers from this address, do not wait.
 */
export class LoginFailures {
  readonly #clock: Clock
  readonly #pairs = new LRUCache<string, Failures>({ max: MOST_PAIRS })

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Milliseconds until the next try is allowed. */
  waitMs(phone: string, address: string): number {
    const { count, atMs } = this.#of(pairOf(phone, address))
    if (count < FREE) return 0
    const wait = Math.min(FIRST_WAIT_MS * 2 ** (count - FREE), MOST_WAIT_MS)
    return Math.max(0, atMs + wait - this.#clock.now())
  }

  add(phone: string, address: string): void {
    const pair = pairOf(phone, address)
    this.#pairs.set(pair, { count: this.#of(pair).count + 1, atMs: this.#clock.now() })
  }

  clear(phone: string, address: string): void {
    this.#pairs.delete(pairOf(phone, address))
  }

  #of(pair: string): Failures {
    const known = this.#pairs.get(pair)
    return known === undefined || this.#clock.now() - known.atMs > FORGET_MS ? { count: 0, atMs: 0 } : known
  }
}

function pairOf(phone: string, address: string): string {
  return `${phone} ${customerOf(address)}`
}

/** An IPv6 address counts by its /64: one customer has a whole /64, and could guess from each address of it. */
export function customerOf(address: string): string {
  return isIPv6(address) ? networkOf(address) : address
}

function networkOf(address: string): string {
  const [before = '', after] = address.split('::')
  const groups = before === '' ? [] : before.split(':')
  const behind = after === undefined || after === '' ? [] : after.split(':')
  const zeros = after === undefined ? 0 : Math.max(0, 8 - groups.length - behind.length)
  const all = [...groups, ...Array.from({ length: zeros }, () => '0'), ...behind]
  return all
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')
}
