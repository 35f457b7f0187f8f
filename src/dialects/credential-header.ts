/** The header that lets a call in. Never in the URL, which ends up in logs. */
export type CredentialHeader = readonly [name: string, value: string]

export function bearer(credential: string): CredentialHeader {
  return ['authorization', `Bearer ${credential}`]
}
