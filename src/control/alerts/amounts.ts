const MICRO = 1_000_000

/** An amount of micro-units as people read it. */
export function money(micro: number, currency: string): string {
  return `${(micro / MICRO).toFixed(2)} ${currency}`
}

export function percent(value: number): string {
  return `${round(value, 1)} %`
}

export function round(value: number, digits: number): number {
  const factor = 10 ** digits
  return Math.round(value * factor) / factor
}

/** One line without control characters. */
export function oneLine(text: string): string {
  return text
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim()
    .slice(0, MOST_CHARACTERS)
}

const MOST_CHARACTERS = 200
