import type { ServiceAccount } from '../core/service-account.ts'

const TOKEN_URI = 'https://oauth2.googleapis.com/token'
const PEM = '-----BEGIN PRIVATE KEY-----'

/**
 * A credential for Google's clouds: an access token as it is; of a service account's JSON, on one line, what is needed to
 * get tokens for it.
 */
export function googleCredential(credential: string): string | { readonly reason: string } {
  const text = credential.trim()
  if (!text.startsWith('{')) return credential
  let value: Readonly<Record<string, unknown>>
  try {
    value = JSON.parse(text) as Readonly<Record<string, unknown>>
  } catch {
    // The parser's own words show a part of the text.
    return { reason: 'is not JSON' }
  }
  if (value['type'] !== 'service_account') return { reason: 'must have the type "service_account"' }
  const { client_email: email, private_key: key, private_key_id: id, token_uri: uri = TOKEN_URI } = value
  if (typeof email !== 'string' || email === '') return { reason: 'has no client_email' }
  if (typeof key !== 'string' || !key.includes(PEM)) return { reason: 'has no private_key in PEM' }
  if (typeof uri !== 'string' || !/^https?:\/\//.test(uri) || !URL.canParse(uri)) {
    return { reason: 'has a token_uri that is no address' }
  }
  const account: ServiceAccount = {
    client_email: email,
    private_key: key,
    private_key_id: typeof id === 'string' ? id : null,
    token_uri: uri,
  }
  return JSON.stringify(account)
}
