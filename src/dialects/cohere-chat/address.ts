import { bearer } from '../credential-header.ts'
import type { CredentialHeader } from '../credential-header.ts'

/** Below `https://api.cohere.com`. */
export const COHERE_CHAT_PATH = '/v2/chat'

export function cohereAuth(apiKey: string): CredentialHeader {
  return bearer(apiKey)
}
