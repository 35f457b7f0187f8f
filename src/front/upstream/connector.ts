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

/** Opens a connection. A failure to open is the `error` event of the socket. */
export type Connect = (options: ConnectOptions) => Socket

export const openSocket: Connect = ({ isTls, ...options }) =>
  isTls ? connectTls({ ...options, servername: options.host, ALPNProtocols: ['http/1.1'] }) : connectTcp(options)

/** The gateway must not call this host. */
export class AddressRefused extends Error {
  readonly code = 'EADDRNOTPUBLIC'

  constructor() {
    super('The host has no address on the public Internet.')
  }
}

/**
 * Opens connections only to addresses within `reach`. It checks the address of each connection itself, so a name that resolves
 * to another address later cannot evade the check.
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
