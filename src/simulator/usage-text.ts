import type { UsageMode } from './behaviour.ts'

/** The usage that an answer reports. The ledger has the same counts when the answer is complete. */
export interface UsageFigures {
  readonly mode: UsageMode
  readonly promptTokens: number
  readonly completionTokens: number
  readonly cachedTokens: number
}

/** An integer that a double cannot hold exactly. */
const HUGE = '9007199254740993'

/** One count of a usage object as JSON text, changed as `mode` says. */
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
