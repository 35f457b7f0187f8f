import { duration, exactPercent } from '../../format/numbers.ts'
import { useLocale } from '../../parts/values.tsx'
import { useWords } from '../../words/index.ts'
import type { Alert } from './alert-calls.ts'
import { kindOf } from './alert-draft.ts'

/** Percent, or milliseconds of the latency. */
const USUAL = { budget: [50, 80, 100], wallet: [50, 80, 100], error_rate: [10], latency: [10_000], key_disabled: [] }

interface AlertTexts {
  readonly titleOf: (alert: Pick<Alert, 'name' | 'kind'>) => string
  /** "at 50%, 80% and 100% of a budget" */
  readonly conditionOf: (alert: Pick<Alert, 'kind' | 'threshold'>) => string
}

export function useAlertTexts(): AlertTexts {
  const t = useWords('alerts')
  const locale = useLocale()
  return {
    titleOf: ({ name, kind }) => name ?? t(`kinds.${kindOf(kind)}.name`),
    conditionOf: ({ kind: shown, threshold }) => {
      const kind = kindOf(shown)
      const levels = threshold === null ? USUAL[kind] : [threshold]
      const value = (level: number): string =>
        kind === 'latency' ? duration(level, locale) : exactPercent(level, locale)
      const at = new Intl.ListFormat(locale, { type: 'conjunction' }).format(levels.map(value))
      return t(`kinds.${kind}.condition`, { at })
    },
  }
}
