import type { ServiceAccount } from '../core/service-account.ts'

const TOKEN_URI = 'https://oauth2.googleapis.com/token'
const PEM = '-----BEGIN PRIVATE KEY-----'

/**
 * Normalises a credential for Google Cloud. An access token stays as it is. The JSON of a service account becomes one line with
 * the members that are needed to get tokens.
 */
export function googleCredential(credential: string): string | { readonly reason: string } {
  const text = credential.trim()
  if (!text.startsWith('{')) return credential
  let value: Readonly<Record<string, unknown>>
  try {
    value = JSON.parse(text) as Readonly<Record<string, unknown>>
  } catch {
    // The message of the parser quotes a part of the text.
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
