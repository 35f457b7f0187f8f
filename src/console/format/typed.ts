/**
 * Takes the separators of thousands out of a number that a person typed. Null: a comma or a space stands elsewhere. "12,50" is twelve and a
 * half for many, and must not become 1250.
 */
export function withoutGroups(text: string): string | null {
  const trimmed = text.trim()
  if (!/[,\s]/.test(trimmed)) return trimmed
  return /^[1-9]\d{0,2}(?:([,\s])\d{3})(?:\1\d{3})*(?:\.\d*)?$/.test(trimmed) ? trimmed.replaceAll(/[,\s]/g, '') : null
}
