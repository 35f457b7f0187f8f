/** The header with the credential. It never goes into the URL, because URLs end up in logs. */
export type CredentialHeader = readonly [name: string, value: string]

export function bearer(credential: string): CredentialHeader {
  return ['authorization', `Bearer ${credential}`]
}
