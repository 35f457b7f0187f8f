export type BedrockOperation =
  'converse' | 'converse-stream' | 'invoke' | 'invoke-with-response-stream' | 'count-tokens'

/** The service name in the signatures of all operations. */
export const BEDROCK_SERVICE = 'bedrock'

/** @param model an id, an inference profile, or an ARN of either */
export function bedrockPath(model: string, operation: BedrockOperation): string {
  return `/model/${encodeURIComponent(model)}/${operation}`
}
