import type { JsonScan } from './json-scan.ts'

/** English prose has about 4.3 bytes per token, code and JSON 3.3. */
const ASCII_BYTES_PER_TOKEN = 3.5
/** The cost of a large picture at most providers. It hardly depends on the size of the file. */
const TOKENS_PER_BLOB = 1600
/** The instructions that providers add to a prompt with tools (300 to 550 in recorded traffic). */
const TOKENS_OF_TOOL_USE = 400

/**
 * Estimates the tokens of the prompt in nanoseconds, from the counts of the scan. It prefers too many to too few, because they
 * are reserved before the call and settled with the provider's count after it. For recorded requests over 5 KB the estimate is
 * 1.0 to 1.1 times the provider's count for the prompts of coding agents, and 0.9 to 2.3 times for others. It cannot include
 * content that only the upstream sees: files by id, pictures by URL, results of its own tools.
 *
 * @param surplusBytes bytes of the body minus its UTF-16 units. A character of two bytes adds 1, one of three or four bytes
 *   adds 2, which is about its cost in tokens.
 */
export function estimatePromptTokens(scan: JsonScan, surplusBytes: number, hasTools: boolean): number {
  const asciiBytes = Math.max(0, scan.textBytes - 2 * surplusBytes)
  // One token for each name and value: roles, brackets, names in schemas.
  const tokens = asciiBytes / ASCII_BYTES_PER_TOKEN + surplusBytes + scan.elements + scan.blobs * TOKENS_PER_BLOB
  return Math.ceil(tokens) + (hasTools ? TOKENS_OF_TOOL_USE : 0)
}
