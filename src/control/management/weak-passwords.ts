import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const FILE = fileURLToPath(new URL('../../../config/common-passwords.txt', import.meta.url))
const PHONE = /^[\d\s()+./-]+$/
/** The fewest digits that count as the phone number: more than all numbers of its area share. */
const LEAST_DIGITS = 6

let commonest: ReadonlySet<string> | null = null

/** Returns the reason why a password is easy to guess, or null. @param phone E.164; null: the user has none */
export function weaknessOf(password: string, phone: string | null): string | null {
  commonest ??= readList()
  if (commonest.has(password.toLowerCase())) return 'is one of the most common passwords'
  return phone !== null && isPhone(password, phone) ? 'is the phone number' : null
}

function readList(): ReadonlySet<string> {
  const lines = readFileSync(FILE, 'utf8').split('\n')
  return new Set(lines.filter((line) => line !== '' && !line.startsWith('#')))
}

/** Matches any notation: with or without country code, blanks and leading zeros. */
function isPhone(password: string, phone: string): boolean {
  if (!PHONE.test(password)) return false
  const digits = password.replace(/\D/g, '').replace(/^0+/, '')
  return digits.length >= LEAST_DIGITS && phone.endsWith(digits)
}
