/** Milliseconds with a unit and about three digits. */
export function shownMs(ms: number): string {
  if (ms >= 10_000) return `${(ms / 1000).toFixed(1)} s`
  return `${digits(ms)} ms`
}

/** About three digits, with thousands. */
export function shownNumber(value: number): string {
  return Math.abs(value) >= 100 || Number.isInteger(value) ? Math.round(value).toLocaleString('en') : digits(value)
}

export function shownPercent(share: number): string {
  return `${(share * 100).toFixed(1)} %`
}

function digits(value: number): string {
  const size = Math.abs(value)
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2)
}
