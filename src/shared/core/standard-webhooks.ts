import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

/**
 * Signatures of Standard Webhooks, version 1: an HMAC-SHA-256 of `id.timestamp.body` under a secret that is written as `whsec_` and
 * base64. Source: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */

const SECRET_PREFIX = 'whsec_'
const SECRET_BYTES = 32
const VERSION = 'v1'
/** A message whose time is further from now may be one that is sent again by somebody else. */
const TOLERANCE_S = 300

/** Makes a new secret. */
export function generateWebhookSecret(): string {
  return SECRET_PREFIX + randomBytes(SECRET_BYTES).toString('base64')
}

/**
 * Returns the headers that sign a message.
 *
 * @param secrets each gives a signature: during a rotation, receivers may know the old or the new one
 */
export function signedWebhookHeaders(
  secrets: readonly string[],
  id: string,
  body: string,
  nowMs: number,
): Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string> {
  const timestamp = String(Math.floor(nowMs / 1000))
  const signatures = secrets.map((secret) => `${VERSION},${digest(secret, id, timestamp, body).toString('base64')}`)
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') }
}

/** Whether one of the signatures is that of the body, and its time is about now. */
export function isSignedWebhook(
  secret: string,
  headers: Readonly<Partial<Record<string, string>>>,
  body: string,
  nowMs: number,
): boolean {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures } = headers
  if (id === undefined || timestamp === undefined || signatures === undefined || !/^\d{1,12}$/.test(timestamp))
    return false
  if (Math.abs(nowMs / 1000 - Number(timestamp)) > TOLERANCE_S) return false
  const expected = digest(secret, id, timestamp, body)
  return signatures.split(' ').some((signature) => {
    const [version, given = ''] = signature.split(',')
    const bytes = Buffer.from(given, 'base64')
    return version === VERSION && bytes.length === expected.length && timingSafeEqual(bytes, expected)
  })
}

function digest(secret: string, id: string, timestamp: string, body: string): Buffer {
  const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64')
  return createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest()
}
