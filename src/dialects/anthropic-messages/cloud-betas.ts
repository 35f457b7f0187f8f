/** Beta flags that the clouds know. Any other flag makes the whole request fail. */
const KNOWN_BETAS = new Set([
  'compact-2026-01-12',
  'computer-use-2025-01-24',
  'computer-use-2025-11-24',
  'context-1m-2025-08-07',
  'context-management-2025-06-27',
  'dev-full-thinking-2025-05-14',
  'interleaved-thinking-2025-05-14',
  'output-128k-2025-02-19',
  'token-efficient-tools-2025-02-19',
  'tool-search-tool-2025-10-19',
])

/** Beta flags that the clouds know by another name. */
const RENAMED_BETAS: Readonly<Record<string, string>> = {
  'advanced-tool-use-2025-11-20': 'tool-search-tool-2025-10-19',
}

/** Fields that the clouds refuse without one of these flags. */
export const FIELDS_OF_BETAS: Readonly<Record<string, readonly string[]>> = {
  context_management: ['context-management-2025-06-27', 'compact-2026-01-12'],
  'tools.defer_loading': ['tool-search-tool-2025-10-19'],
}

/** No client sets more. Limits the look-ups, one for each flag. */
const MAX_BETAS = 64

/** The flags of an `anthropic-beta` header. */
export function readBetas(header: string | null | undefined): readonly string[] {
  if (header === null || header === undefined) return []
  return header
    .split(',', MAX_BETAS)
    .map((flag) => flag.trim())
    .filter((flag) => flag !== '')
}

/** Those of `flags` that a cloud accepts, under the cloud's names, each once. */
export function cloudBetas(flags: readonly string[]): readonly string[] {
  const known = flags.map((flag) => RENAMED_BETAS[flag] ?? flag).filter((flag) => KNOWN_BETAS.has(flag))
  return [...new Set(known)]
}

/** Whether a cloud does not accept some of `flags`. */
export function losesBetas(flags: readonly string[]): boolean {
  return flags.some((flag) => !KNOWN_BETAS.has(RENAMED_BETAS[flag] ?? flag))
}
