import type { LookupAddress, LookupOptions } from 'node:dns'
import { connect as connectTcp, isIP, Socket } from 'node:net'
import type { LookupFunction, TcpNetConnectOpts } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { UpstreamReach } from '../../shared/core/upstream-reach.ts'

export interface ConnectOptions extends TcpNetConnectOpts {
  readonly host: string
  readonly isTls: boolean
  readonly lookup: LookupFunction
}

/** Opens a connection; what keeps it from opening is its socket's error. */
export type Connect = (options: ConnectOptions) => Socket

export const openSocket: Connect = ({ isTls, ...options }) =>
  isTls ? connectTls({ ...options, servername: options.host, ALPNProtocols: ['http/1.1'] }) : connectTcp(options)

/** The host is one that the gateway must not be made to call. */
export class AddressRefused extends Error {
  readonly code = 'EADDRNOTPUBLIC'

  constructor() {
    super('The host has no address on the public Internet.')
  }
}

/**
 * Opens connections to addresses within `reach` alone. What counts is the address that is connected to, each time: another
 * answer to another question about the name changes nothing.
 */
export function connectWithin(reach: UpstreamReach, connect: Connect): Connect {
  return (options) => {
    // An address needs no resolver, so `lookup` would not check it.
    if (isIP(options.host) !== 0 && !reach.allows(options.host, options.host)) {
      return new Socket().destroy(new AddressRefused())
    }
    return connect({ ...options, lookup: lookupWithin(reach, options.lookup) })
  }
}

function lookupWithin(reach: UpstreamReach, lookup: LookupFunction): LookupFunction {
  return (host: string, options: LookupOptions, callback) => {
    lookup(host, { ...options, all: true }, (error, found) => {
      if (error !== null) {
        callback(error, '', 0)
        return
      }
      const addresses = (found as LookupAddress[]).filter(({ address }) => reach.allows(host, address))
      const [first] = addresses
      if (first === undefined) callback(new AddressRefused(), '', 0)
      else if (options.all === true) callback(null, addresses)
      else callback(null, first.address, first.family)
    })
  }
}
