export type BedrockOperation =
  'converse' | 'converse-stream' | 'invoke' | 'invoke-with-response-stream' | 'count-tokens'

/** Hosts of private endpoints have a prefix before `bedrock-runtime`. */
const HOST = /(?:^|\.)bedrock-runtime(?:-fips)?\.([a-z0-9-]+)\./
const DEFAULT_REGION = 'us-east-1'

/** The region and the service name in the signature of a call. @param host with its port, if it has one */
export function awsScope(host: string): { readonly region: string; readonly service: string } {
  return { region: HOST.exec(host)?.[1] ?? DEFAULT_REGION, service: 'bedrock' }
}

/** @param model an id, an inference profile, or an ARN of either */
export function bedrockPath(model: string, operation: BedrockOperation): string {
  return `/model/${encodeURIComponent(model)}/${operation}`
}
