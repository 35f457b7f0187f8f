import { isIP } from 'node:net'
import { GatewayError } from '../../shared/core/errors.ts'

type Headers = Readonly<Record<string, string | undefined>>

export interface OriginsOptions {
  /** The address under which clients reach the gateway; null: not known. */
  readonly baseUrl: string | null
  /** Origins of `server.cors_origins`. */
  readonly allowed: readonly string[]
}

/**
 * Refuses pages of other origins. Two attacks matter: a page that sends requests to a gateway in the browser's network, and a page whose
 * host name was pointed at this machine (DNS rebinding).
 */
export class Origins {
  readonly #allowed: ReadonlySet<string>
  readonly #any: boolean
  readonly #hosts: ReadonlySet<string>

  constructor({ baseUrl, allowed }: OriginsOptions) {
    const own = baseUrl === null ? [] : [new URL(baseUrl).origin]
    this.#allowed = new Set([...allowed, ...own])
    this.#any = allowed.includes('*')
    this.#hosts = new Set(own.map((origin) => new URL(origin).hostname))
  }

  /** Throws ORIGIN_DENIED. @param address the address of the client */
  check(headers: Headers, address: string): void {
    const host = hostOf(`http://${headers['host'] ?? ''}`)
    const { origin } = headers
    if (origin !== undefined && !this.#mayCall(origin, host)) {
      throw new GatewayError('ORIGIN_DENIED', {
        message: `Pages of ${printable(origin)} may not call the gateway: an operator can allow them in server.cors_origins.`,
      })
    }
    // From this machine, a browser reaches the gateway under a name that DNS gives it. Others cannot: a name is not an address.
    if (isLoopback(address) && !isNumeric(host) && !isLocal(host) && !this.#hosts.has(host ?? '')) {
      throw new GatewayError('ORIGIN_DENIED', {
        message: `The gateway does not know itself as ${printable(headers['host'] ?? '')}: set server.base_url to the address that clients use.`,
      })
    }
  }

  #mayCall(origin: string, host: string | null): boolean {
    if (this.#any || this.#allowed.has(origin)) return true
    // A page of this machine, for a gateway of this machine: the inspector of the protocol is one.
    return isLocal(hostOf(origin)) && isLocal(host)
  }
}

/** Null: not an address of HTTP. */
function hostOf(url: string): string | null {
  try {
    const { protocol, hostname } = new URL(url)
    return protocol === 'http:' || protocol === 'https:' ? hostname : null
  } catch {
    return null
  }
}

function isLocal(host: string | null): boolean {
  return host === 'localhost' || host === '[::1]' || (host !== null && /^127(\.\d+){3}$/.test(host))
}

function isNumeric(host: string | null): boolean {
  return host !== null && (isIP(host) !== 0 || /^\[.+\]$/.test(host))
}

function isLoopback(address: string): boolean {
  return address === '::1' || address.startsWith('127.') || address.startsWith('::ffff:127.')
}

function printable(text: string): string {
  return JSON.stringify(text.slice(0, 200))
}
