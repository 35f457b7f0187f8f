/** The parts of a Google service account key that are needed to get access tokens. */
export interface ServiceAccount {
  readonly client_email: string
  /** PKCS #8 in PEM. */
  readonly private_key: string
  readonly private_key_id: string | null
  readonly token_uri: string
}

/** Whether a credential is the JSON of a service account, not a token. */
export function isServiceAccount(credential: string): boolean {
  return credential.startsWith('{')
}
