import type { Static } from 'typebox'
import type { CaptureField, ShownCapture } from '../../shared/api/capture.ts'
import type { CaptureSettings } from '../../shared/core/capture.ts'
import { GatewayError } from '../../shared/core/errors.ts'

type Sent = Static<(typeof CaptureField)['capture']> | undefined

/** Null and undefined stay. Throws INVALID_FIELD for a bad pattern, and when the configuration forbids capture. */
export async function captureSettingsOf(sent: Sent, isAllowed: boolean): Promise<CaptureSettings | null | undefined> {
  if (sent === null || sent === undefined) return sent
  const { requests = false, answers = false, sample = 1, redact = [], retain_days: retainDays = 30 } = sent
  if (!isAllowed && (requests || answers)) {
    throw new GatewayError('INVALID_FIELD', {
      message: 'This gateway captures no bodies: its configuration has capture.allowed: false.',
      param: '/capture',
    })
  }
  if (redact.length > 0) await checkPatterns(redact)
  return { requests, answers, sample, redact, retainDays }
}

export function renderedCapture(settings: CaptureSettings | null): Static<typeof ShownCapture> | null {
  if (settings === null) return null
  const { requests, answers, sample, redact, retainDays } = settings
  return { requests, answers, sample, redact: [...redact], retain_days: retainDays }
}

/** RE2 is loaded where it is used: it is a twentieth of what a start loads. */
async function checkPatterns(patterns: readonly string[]): Promise<void> {
  const { PatternError, RedactPattern } = await import('../capture/patterns.ts')
  for (const [index, pattern] of patterns.entries()) {
    try {
      new RedactPattern(pattern)
    } catch (cause) {
      if (!(cause instanceof PatternError)) throw cause
      throw new GatewayError('INVALID_FIELD', {
        message: `capture.redact[${index}] ${cause.message}.`,
        param: `/capture/redact/${index}`,
      })
    }
  }
}
