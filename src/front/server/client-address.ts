import { isIP } from 'node:net'
import { AddressList } from '../../shared/core/address-list.ts'

const MAPPED_IPV4 = '::ffff:'

/** Finds the client's address behind trusted proxies. */
export interface ClientAddresses {
  of(peer: string, forwardedFor: string | undefined): string
}

/** @param trusted addresses and CIDR ranges of proxies whose X-Forwarded-For is trusted */
export function createClientAddresses(trusted: readonly string[]): ClientAddresses {
  const proxies = trusted.length === 0 ? null : new AddressList(trusted)
  return {
    of(peer, forwardedFor) {
      const address = normaliseAddress(peer)
      if (proxies === null || forwardedFor === undefined || !proxies.has(address)) return address
      const hops = forwardedFor.split(',')
      for (let i = hops.length - 1; i >= 0; i--) {
        const hop = normaliseAddress((hops[i] ?? '').trim())
        if (isIP(hop) === 0) return address
        if (!proxies.has(hop)) return hop
      }
      return address
    },
  }
}

/** Rewrites `::ffff:1.2.3.4` to IPv4, and the long text form of IPv6 to the short form. */
export function normaliseAddress(address: string): string {
  if (address.startsWith(MAPPED_IPV4)) return address.slice(MAPPED_IPV4.length)
  if (!address.includes(':')) return address
  const groups = address.split(':')
  if (groups.length === 8 && groups.slice(0, 5).every((group) => /^0*$/.test(group)) && groups[5] === 'ffff') {
    const high = Number.parseInt(groups[6] ?? '0', 16)
    const low = Number.parseInt(groups[7] ?? '0', 16)
    return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`
  }
  if (groups.length === 8) return compressed(groups.map((group) => group.replace(/^0+(?=.)/, '')))
  return address
}

function compressed(groups: readonly string[]): string {
  let best = { start: -1, length: 1 }
  for (let i = 0; i < groups.length; i++) {
    let end = i
    while (groups[end] === '0') end++
    if (end - i > best.length) best = { start: i, length: end - i }
  }
  if (best.start < 0) return groups.join(':')
  return `${groups.slice(0, best.start).join(':')}::${groups.slice(best.start + best.length).join(':')}`
}
