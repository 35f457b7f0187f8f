const REPLACEMENT = '[redacted]'
const MIN_SECRET_LENGTH = 4
/** A message is cut before it is redacted. At its end, this many first characters of a secret count as the secret. */
const MIN_CUT_SECRET_LENGTH = 6

const TOP_LEVEL_DOMAINS =
  'com|net|org|io|ai|dev|cloud|app|co|cn|eu|us|uk|de|fr|ch|nl|ru|jp|kr|in|sg|au|ca|br|info|biz|tech|xyz|site|online|' +
  'gov|edu|aws|internal|intranet|local|localdomain|lan|corp|svc|test|example|invalid'

/** The URL's host may have been replaced already. */
const URL_PATTERN = /\b[a-z][a-z0-9+.-]{1,15}:\/\/(?:\[redacted\]|[^\s"'<>)\]}])+/gi
/** Includes brackets: they may belong to a URL, or stand around it. */
const BRACKETED_URL = /[^\s"<>]+/y
/** Punctuation of a sentence after a URL, and marks of a shortened or normalised URL. */
const AFTER_URL = /[.,;:!?*`|…)\]}'/]+$/
/** Longer URLs are searched for only in their plain form, not in the escapes of JSON. */
const MAX_ESCAPED_URL = 4_096
/**
 * The most that is searched of a request for the URLs of one text, over all searches: thousands of URLs must not stall the
 * event loop.
 */
const MAX_SEARCHED = 8 * 1024 * 1024

/** Each pattern is linear, or nearly so, on texts of a few thousand characters. */
const PATTERNS: readonly RegExp[] = [
  URL_PATTERN,
  /\b[\w.+-]{1,64}@[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63})+/gi,
  // Bearer tokens and JSON web tokens.
  /\b(?:bearer|basic)\s+[\w.~+/=-]{8,}/gi,
  /\beyJ[\w-]{5,}(?:\.[\w-]+){1,4}/g,
  // Keys and account ids by their prefixes. Masked ones still show their last characters.
  /\b(?:sk|pk|rk|org|proj|req|user|acct|key|ak|gsk|xai|nvapi|hf|r8|pplx|csk|ghp|fw)[-_](?=[\w*-]*[\d*])[\w*.…-]{6,}/gi,
  /\b(?:sk|gsk|xai|nvapi|pplx|csk)-[\w*.…-]{6,}/gi,
  /\b(?:sk|org|proj|req)[-_](?:REDACTED|[\w-]{12,})/g,
  /\bAIza[\w-]{20,}/g,
  /\bya29\.[\w.-]{8,}/g,
  /\b(?:AKIA|ASIA)[A-Z0-9]{12,}/g,
  /[\w-]{0,64}\*{3,}[\w*-]{0,64}/g,
  // Opaque identifiers: UUIDs, long runs of letters and digits.
  /\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b/gi,
  /\b(?=[a-z_]{0,200}\d)(?=[\d_]{0,200}[a-z])\w{32,}\b/gi,
  // Addresses: IPv4, IPv6 in brackets, host names.
  /\b(?:\d{1,3}\.){3}\d{1,3}(?::\d{1,5})?\b/g,
  /\[[0-9a-f]*:[0-9a-f:.]+\](?::\d{1,5})?/gi,
  /\blocalhost(?::\d{1,5})?\b/gi,
  new RegExp(`\\b(?:[a-z0-9_-]{1,63}\\.){1,10}(?:${TOP_LEVEL_DOMAINS})(?::\\d{1,5})?\\b(?![\\w-]|\\.\\w)`, 'gi'),
]

/**
 * Removes from an upstream's message what a client must not see: the given secrets (credentials, hosts, account names, in any
 * letter case) and anything that looks like a URL, host, address, e-mail, key or account id. Removes too much rather than too
 * little.
 * @param request the body of the client that will read the text: URLs in it are the client's own and stay, as far as
 * `MAX_SEARCHED` allows the search
 */
export function redactUpstreamText(text: string, secrets: readonly string[], request: Buffer | null = null): string {
  let clean = text
  const known = secrets.filter((secret) => secret.length >= MIN_SECRET_LENGTH).sort((a, b) => b.length - a.length)
  for (const secret of known) {
    clean = clean.replaceAll(new RegExp(escapeRegExp(secret), 'gi'), REPLACEMENT)
    clean = dropCutSecret(clean, secret)
  }
  return request === null || !clean.includes('://') ? withoutPatterns(clean) : keepingUrls(clean, request)
}

function withoutPatterns(text: string): string {
  let clean = text
  for (const pattern of PATTERNS) clean = clean.replaceAll(pattern, REPLACEMENT)
  return clean
}

function keepingUrls(text: string, request: Buffer): string {
  if (request.length > MAX_SEARCHED) return withoutPatterns(text)
  const body = request.toString('utf8')
  let left = MAX_SEARCHED
  const isOwn = (url: string): boolean => {
    left -= body.length
    return left >= 0 && standsIn(body, url)
  }
  let clean = ''
  let at = 0
  for (const { 0: found, index } of text.matchAll(URL_PATTERN)) {
    if (index < at) continue
    BRACKETED_URL.lastIndex = index
    const bracketed = BRACKETED_URL.exec(text)?.[0] ?? found
    // `found` stops at a closing bracket, so after an opening bracket it is not the whole URL.
    const ends = /[([{]/.test(found) ? [bracketed] : [bracketed, found]
    const candidates = ends.flatMap((url) => [url, url.replace(AFTER_URL, '')])
    const own = candidates.find(isOwn)
    if (own === undefined) continue
    clean += withoutPatterns(text.slice(at, index)) + own
    at = index + own.length
  }
  return clean + withoutPatterns(text.slice(at))
}

/** Searches plain text, then JSON escapes: some writers escape slashes, others ampersands, or all that is not ASCII. */
function standsIn(body: string, url: string): boolean {
  if (body.includes(url)) return true
  if (!body.includes('\\') || url.length > MAX_ESCAPED_URL) return false
  const escaped = [...url].map((character) => (/[a-z0-9]/i.test(character) ? character : escapesOf(character)))
  return new RegExp(escaped.join('')).test(body)
}

/** A pattern for one character in any form that a JSON string allows. */
function escapesOf(character: string): string {
  const units = [...Array(character.length).keys()].map((at) => character.charCodeAt(at).toString(16).padStart(4, '0'))
  const unicode = units.map((unit) => `\\\\u${anyCase(unit)}`).join('')
  return `(?:\\\\?${escapeRegExp(character)}|${unicode})`
}

function anyCase(hex: string): string {
  return hex.replaceAll(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`)
}

function dropCutSecret(text: string, secret: string): string {
  for (let length = Math.min(secret.length - 1, text.length); length >= MIN_CUT_SECRET_LENGTH; length--) {
    if (text.endsWith(secret.slice(0, length))) return text.slice(0, -length) + REPLACEMENT
  }
  return text
}

function escapeRegExp(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
}
