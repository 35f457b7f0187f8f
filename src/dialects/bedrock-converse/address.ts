import { bearer } from '../credential-header.ts'
import type { CredentialHeader } from '../credential-header.ts'

export type BedrockOperation =
  'converse' | 'converse-stream' | 'invoke' | 'invoke-with-response-stream' | 'count-tokens'

/** The name under which requests of all operations are signed. */
export const BEDROCK_SERVICE = 'bedrock'

export function bedrockHost(region: string): string {
  return `bedrock-runtime.${encodeURIComponent(region)}.amazonaws.com`
}

/** @param model an id, an inference profile, or an ARN of either */
export function bedrockPath(model: string, operation: BedrockOperation): string {
  return `/model/${encodeURIComponent(model)}/${operation}`
}

/** For an API key of the service; without one, requests are signed. */
export function bedrockAuth(apiKey: string): CredentialHeader {
  return bearer(apiKey)
}
