import type { UsageMode } from './behaviour.ts'

/** What an answer reports; the ledger holds the same figures when the answer came to its end. */
export interface UsageFigures {
  readonly mode: UsageMode
  readonly promptTokens: number
  readonly completionTokens: number
  readonly cachedTokens: number
}

/** Beyond what a double can hold exactly. */
const HUGE = '9007199254740993'

/** One figure of a usage object as JSON text, bent as the mode says. */
export function figure(mode: UsageMode, value: number): string {
  switch (mode) {
    case 'zero':
      return '0'
    case 'negative':
      return String(-Math.max(1, value))
    case 'huge':
      return HUGE
    case 'string':
      return `"${value}"`
    default:
      return String(value)
  }
}
