import { createHmac, randomBytes } from 'node:crypto'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const PREFIX = 'sk-'
const BODY_LENGTH = 34
const CHECKSUM_LENGTH = 6
const SYNTAX = /^sk-[0-9A-Za-z]{40}$/

/** A new entry API key: `sk-`, 34 random base62 characters, 6 of checksum. */
export function generateApiKey(): string {
  let body = ''
  while (body.length < BODY_LENGTH) {
    for (const byte of randomBytes(BODY_LENGTH)) {
      // 248 is the largest multiple of 62 a byte can hold: with larger bytes, characters would not be equally likely.
      if (byte < 248 && body.length < BODY_LENGTH) body += ALPHABET.charAt(byte % 62)
    }
  }
  return PREFIX + body + checksum(body)
}

/** False for every string that this gateway cannot have issued, without a look-up. */
export function isApiKey(text: string): boolean {
  if (!SYNTAX.test(text)) return false
  const body = text.slice(PREFIX.length, PREFIX.length + BODY_LENGTH)
  return checksum(body) === text.slice(PREFIX.length + BODY_LENGTH)
}

/** The digest that is stored and looked up instead of the key: HMAC-SHA-256 under the server's secret, in hex. */
export function digestApiKey(key: string, secret: Buffer): string {
  return createHmac('sha256', secret).update(key).digest('hex')
}

/** `sk-AbCd…wXyZ`: enough to recognise a key in a list, useless to a thief. */
export function maskApiKey(key: string): string {
  return `${key.slice(0, PREFIX.length + 4)}…${key.slice(-4)}`
}

/** CRC-32 (IEEE 802.3, reflected 0xEDB88320) of the body, in base62, padded to six characters. */
function checksum(body: string): string {
  let crc = 0xffffffff
  for (let i = 0; i < body.length; i++) {
    crc ^= body.charCodeAt(i)
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1
  }
  let rest = (crc ^ 0xffffffff) >>> 0
  let text = ''
  for (let i = 0; i < CHECKSUM_LENGTH; i++) {
    text = ALPHABET.charAt(rest % 62) + text
    rest = Math.floor(rest / 62)
  }
  return text
}
