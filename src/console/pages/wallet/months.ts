import { dayIn } from '../../format/time.ts'

/** `2026-11`, of its first moment in a zone. */
export function monthOf(from: string, zone: string): string {
  return dayIn(new Date(from), zone).slice(0, 7)
}

/** The month so many months later. */
export function monthAfter(month: string, by: number): string {
  const [year = 2026, number = 1] = month.split('-').map(Number)
  return new Date(Date.UTC(year, number - 1 + by, 1)).toISOString().slice(0, 7)
}
