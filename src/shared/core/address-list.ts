import { BlockList, isIP } from 'node:net'

/** Addresses and CIDR ranges, compiled once. */
export class AddressList {
  readonly #list = new BlockList()

  /** Throws RangeError on an entry that is neither an address nor a range. */
  constructor(entries: readonly string[]) {
    for (const entry of entries) {
      const [address = '', prefix] = entry.split('/')
      const version = address.includes(':') ? 6 : 4
      const bits = Number(prefix ?? (version === 6 ? 128 : 32))
      try {
        // `isIP` would compile its expression for IPv6 at each start, which takes 10 ms. Node parses the address in C++ here.
        this.#list.addSubnet(address, bits, family(version))
      } catch (cause) {
        throw new RangeError(`not an address or range: ${entry}`, { cause })
      }
    }
  }

  has(address: string): boolean {
    const version = isIP(address)
    return version !== 0 && this.#list.check(address, family(version))
  }
}

function family(version: number): 'ipv4' | 'ipv6' {
  return version === 6 ? 'ipv6' : 'ipv4'
}
