/** Flags that the clouds know; any other fails the whole request. */
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

/** Flags that the clouds know by another name. */
const RENAMED_BETAS: Readonly<Record<string, string>> = {
  'advanced-tool-use-2025-11-20': 'tool-search-tool-2025-10-19',
}

/** Fields that are refused without one of these flags. */
export const FIELDS_OF_BETAS: Readonly<Record<string, readonly string[]>> = {
  context_management: ['context-management-2025-06-27', 'compact-2026-01-12'],
  'tools.defer_loading': ['tool-search-tool-2025-10-19'],
}

/** More than any client sets; each is looked up. */
const MAX_BETAS = 64

/** The flags of an `anthropic-beta` header. */
export function readBetas(header: string | null | undefined): readonly string[] {
  if (header === null || header === undefined) return []
  return header
    .split(',', MAX_BETAS)
    .map((flag) => flag.trim())
    .filter((flag) => flag !== '')
}

/** Of `flags`, those that a cloud may be given, as it calls them, each once. */
export function cloudBetas(flags: readonly string[]): readonly string[] {
  const known = flags.map((flag) => RENAMED_BETAS[flag] ?? flag).filter((flag) => KNOWN_BETAS.has(flag))
  return [...new Set(known)]
}

/** Whether some of `flags` have to stay behind. */
export function losesBetas(flags: readonly string[]): boolean {
  return flags.some((flag) => !KNOWN_BETAS.has(RENAMED_BETAS[flag] ?? flag))
}
