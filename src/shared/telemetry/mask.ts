const HIDDEN = '[redacted]'

/** Members whose value is never logged, at any depth. */
export const SECRET_FIELDS = [
  'authorization',
  'proxy-authorization',
  'x-api-key',
  'api-key',
  'api_key',
  'apiKey',
  'x-goog-api-key',
  'cookie',
  'set-cookie',
  'credential',
  'password',
  'password_hash',
  'passwordHash',
  'secret',
  'token',
  'keyHash',
  'private_key',
] as const

// The text that may stand before a secret. In JSON it may end in an escape (`\n`), whose letter does not belong to a word.
const BEFORE = /(?:^|[^A-Za-z0-9]|\\[bfnrt]|\\u[0-9a-fA-F]{4}|%[0-9a-fA-F]{2})$/
const LONGEST_BEFORE = 6

// Each pattern begins with a literal, and `hide` checks the text before it only after a match: a lookbehind at every position of
// every line took 37 µs a line, this takes 3.
const SECRETS = new RegExp(
  [
    // JSON web tokens
    String.raw`eyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*)?`,
    // Authorization headers
    String.raw`(?:[Bb]earer|BEARER|[Bb]asic|BASIC)(?:\s|%20|\+|\\t)+[A-Za-z0-9._~+/=-]{6,}`,
    // Keys of this gateway and of well-known providers
    String.raw`(?:sk|pk|rk|gsk|xai|fw|tgp|hf|nvapi|csk|pplx|r8|key)[-_][A-Za-z0-9_-]{12,}`,
    String.raw`AIza[A-Za-z0-9_-]{20,}`,
    String.raw`(?:AKIA|ASIA)[A-Z0-9]{16}`,
  ].join('|'),
  'g',
)

const URL_PASSWORD = /(:\/\/[^\s/:@"\\]*:)[^\s/"]+@/g

const names = SECRET_FIELDS.join('|')
const SECRET_MEMBER = new RegExp(
  String.raw`("(?:${names})":)(?:"(?:[^"\\]|\\.)*"|\[(?:"(?:[^"\\]|\\.)*"|[^"\]])*\])`,
  'gi',
)

/** Replaces everything in a text that looks like a credential: keys, tokens, Authorization values, passwords in URLs. */
export function maskSecrets(text: string): string {
  return text.replace(SECRETS, hide).replace(URL_PASSWORD, `$1${HIDDEN}@`)
}

/** Replaces, in one line of JSON, the values of secret members and everything that looks like a credential. */
export function maskLine(line: string): string {
  return maskSecrets(line.replace(SECRET_MEMBER, `$1"${HIDDEN}"`))
}

/** Keeps the prefix that shows the kind of a secret, so that a reader knows what was there. */
function hide(secret: string, offset: number, text: string): string {
  if (!BEFORE.test(text.slice(Math.max(0, offset - LONGEST_BEFORE), offset))) {
    // The match begins within a word (the "sk-" of "task-…"): the rest may still hold a secret.
    return secret.charAt(0) + maskSecrets(secret.slice(1))
  }
  const [kind] = /^(?:[A-Za-z0-9]{1,5}[-_]|eyJ|AIza|A[KS]IA|\w+)/.exec(secret) ?? ['']
  return `${kind}${kind.endsWith('-') || kind.endsWith('_') ? '' : ' '}${HIDDEN}`
}
