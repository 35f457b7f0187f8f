import { captureRuleOf } from '../../shared/core/capture.ts'
import type { CaptureSettings } from '../../shared/core/capture.ts'

/**
 * The setting that holds for a key: its own, or that of its enterprise. Patterns of the enterprise hold in any case. Null when no body is
 * kept.
 */
export function effectiveSettings(row: {
  readonly own: CaptureSettings | null
  readonly enterprise: CaptureSettings | null
}): CaptureSettings | null {
  const { own, enterprise } = row
  const settings = own ?? enterprise
  if (settings === null || captureRuleOf(settings) === null) return null
  const inherited = own === null ? [] : (enterprise?.redact ?? [])
  return { ...settings, redact: [...new Set([...inherited, ...settings.redact])] }
}
