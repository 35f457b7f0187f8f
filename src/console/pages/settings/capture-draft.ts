import type { Enterprise } from '../../parts/enterprise.ts'

const DAYS = 30

export interface CaptureDraft {
  readonly requests: boolean
  readonly answers: boolean
  /** Percent. */
  readonly sample: number
  readonly redact: readonly string[]
  readonly retain_days: number
}

export function captureDraftOf(capture: Enterprise['capture']): CaptureDraft {
  return {
    requests: capture?.requests ?? false,
    answers: capture?.answers ?? false,
    sample: Math.round((capture?.sample ?? 1) * 10_000) / 100,
    redact: capture?.redact ?? [],
    retain_days: capture?.retain_days ?? DAYS,
  }
}

/** Patterns are kept where nothing is captured: they hold for keys with their own setting. */
export function captureBodyOf(draft: CaptureDraft): Enterprise['capture'] {
  if (!draft.requests && !draft.answers && draft.redact.length === 0) return null
  return { ...draft, redact: [...draft.redact], sample: draft.sample / 100 }
}
