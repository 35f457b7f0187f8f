import { isIP } from 'node:net'

/** Whether a text is an IP address or a CIDR range (`10.0.0.0/8`, `fd00::/8`). */
export function isAddressRange(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/')
  const version = isIP(address)
  if (version === 0 || rest.length > 0 || address.includes('%')) return false
  if (bits === undefined) return true
  return /^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128)
}

/**
 * Parses a base address, without trailing slashes, or gives the reason why it is not one: it must be an origin and a path,
 * without user, query and fragment.
 */
export function parseBaseUrl(text: string): { readonly url: string } | { readonly reason: string } {
  if (!URL.canParse(text)) return { reason: 'is not an address' }
  const url = new URL(text)
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return { reason: 'must begin with http:// or https://' }
  if (url.username !== '' || url.password !== '') return { reason: 'must not hold a user or password' }
  if (url.search !== '' || url.hash !== '') return { reason: 'must not hold a query or fragment' }
  return { url: url.origin + url.pathname.replace(/\/+$/, '') }
}

/** Parses the address of a tool server, or gives the reason why it is not one. It may have a query. */
export function parseServerUrl(text: string): { readonly url: string } | { readonly reason: string } {
  if (!URL.canParse(text)) return { reason: 'is not an address' }
  const url = new URL(text)
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return { reason: 'must begin with http:// or https://' }
  if (url.username !== '' || url.password !== '') return { reason: 'must not hold a user or password' }
  if (url.hash !== '') return { reason: 'must not hold a fragment' }
  return { url: url.href }
}
