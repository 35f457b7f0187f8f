import { isIP } from 'node:net'
import { AddressList } from './address-list.ts'

/**
 * IPv4 outside the public Internet: the special-purpose registry of IANA, multicast, reserved ranges, and an address at which
 * a cloud serves its machines.
 */
const NOT_PUBLIC_4 = new AddressList([
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '168.63.129.16/32',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
])
/** Public IPv6. All the rest is mapped and translated IPv4, NAT64, unique local, link-local, site-local, multicast. */
const GLOBAL_6 = new AddressList(['2000::/3'])
/** Not public within that range: Teredo, ORCHID and other protocols, documentation, 6to4, AS112. */
const NOT_PUBLIC_6 = new AddressList(['2001::/23', '2001:db8::/32', '2002::/16', '2620:4f:8000::/48', '3fff::/20'])

/** Names that have a meaning only inside a network. */
const INNER_NAME = /(?:^|\.)(?:local|localhost|localdomain|internal|intranet|lan|home|corp|private|arpa)$/

/** The key of the configuration that allows further addresses of upstreams. Refusals name it. */
export const REACH_KEY = 'management.private_upstreams'
/** The same for webhooks. */
export const WEBHOOK_REACH_KEY = 'alerts.private_webhooks'

/**
 * Limits the addresses of upstreams and webhooks that the operator did not give: to the public Internet over TLS, and to hosts and
 * ranges of addresses that the operator has listed.
 */
export class UpstreamReach {
  readonly #hosts: ReadonlySet<string>
  readonly #ranges: AddressList
  readonly #key: string

  /** @param key the key of the configuration that has the list */
  constructor(listed: readonly string[] = [], key: string = REACH_KEY) {
    this.#key = key
    const isRange = (entry: string): boolean => isIP(entry.split('/', 1)[0] ?? '') !== 0
    this.#hosts = new Set(listed.filter((entry) => !isRange(entry)).map(plainHost))
    this.#ranges = new AddressList(listed.filter(isRange))
  }

  /** The reason why a URL may not be called, as far as it is known before its name is resolved; null: none. */
  refusalOf({ protocol, hostname }: URL): string | null {
    const host = plainHost(hostname)
    if (this.isListed(hostname)) return null
    if (protocol !== 'https:') return `must begin with https:// (${this.#key} can make an exception)`
    const isInner = isIP(host) === 0 ? INNER_NAME.test(host) : !isPublicAddress(host)
    return isInner ? `must be on the public Internet (${this.#key} can make an exception)` : null
  }

  /** Whether the operator has listed the host, a name or an address. */
  isListed(hostname: string): boolean {
    const host = plainHost(hostname)
    return this.#hosts.has(host) || this.#ranges.has(host)
  }

  /** Whether a connection to `address`, to which `host` resolves, may be opened. */
  allows(host: string, address: string): boolean {
    return isPublicAddress(address) || this.#ranges.has(withoutZone(address)) || this.#hosts.has(plainHost(host))
  }
}

function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !NOT_PUBLIC_4.has(address)
    case 6:
      return !address.includes('%') && GLOBAL_6.has(address) && !NOT_PUBLIC_6.has(address)
    default:
      return false
  }
}

/** The form of a host in the list: no brackets, no dot at the end, lower case. */
function plainHost(hostname: string): string {
  return hostname
    .replace(/^\[|\]$/g, '')
    .replace(/\.+$/, '')
    .toLowerCase()
}

function withoutZone(address: string): string {
  return address.split('%', 1)[0] ?? ''
}
