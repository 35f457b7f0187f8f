import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const FILE = fileURLToPath(new URL('../../../config/common-passwords.txt', import.meta.url))
const PHONE = /^[\d\s()+./-]+$/
/** Of a phone number: more than its area has in common. */
const LEAST_DIGITS = 6

let commonest: ReadonlySet<string> | null = null

/** The reason why a password is guessed first; null: none is known. @param phone E.164 */
export function weaknessOf(password: string, phone: string): string | null {
  commonest ??= readList()
  if (commonest.has(password.toLowerCase())) return 'is one of the commonest'
  return isPhone(password, phone) ? 'is the phone number' : null
}

function readList(): ReadonlySet<string> {
  const lines = readFileSync(FILE, 'utf8').split('\n')
  return new Set(lines.filter((line) => line !== '' && !line.startsWith('#')))
}

/** However it is written: with or without its country code, blanks, and zeros in front. */
function isPhone(password: string, phone: string): boolean {
  if (!PHONE.test(password)) return false
  const digits = password.replace(/\D/g, '').replace(/^0+/, '')
  return digits.length >= LEAST_DIGITS && phone.endsWith(digits)
}
