import type { JsonScan } from './json-scan.ts'

/** English prose has about 4.3 bytes per token, code and JSON 3.3. */
const ASCII_BYTES_PER_TOKEN = 3.5
/** What a large picture costs at most providers. The size of its file says little. */
const TOKENS_PER_BLOB = 1600
/** The instructions that providers put before a prompt as soon as it has tools (300 to 550 in recorded traffic). */
const TOKENS_OF_TOOL_USE = 400

/**
 * Tokens of the prompt, guessed in nanoseconds from what the scan counted: rather too many than too few, since it is
 * reserved before and settled with the provider's count after. Of what providers counted for recorded requests over
 * 5 KB it is 1.0 to 1.1 for the prompts of coding agents, 0.9 to 2.3 for others. What only the upstream sees (files by
 * id, pictures by URL, results of its own tools) cannot be in it.
 *
 * @param surplusBytes how many bytes the body has more than UTF-16 units. A character of two bytes adds 1, of three or
 *   four bytes 2, which is about what it costs in tokens.
 */
export function estimatePromptTokens(scan: JsonScan, surplusBytes: number, hasTools: boolean): number {
  const asciiBytes = Math.max(0, scan.textBytes - 2 * surplusBytes)
  // One token for each name and value: roles, brackets, names in schemas.
  const tokens = asciiBytes / ASCII_BYTES_PER_TOKEN + surplusBytes + scan.elements + scan.blobs * TOKENS_PER_BLOB
  return Math.ceil(tokens) + (hasTools ? TOKENS_OF_TOOL_USE : 0)
}
