import { createHmac, timingSafeEqual } from 'node:crypto'

/**
 * Signatures of Standard Webhooks, version 1: an HMAC-SHA-256 of `id.timestamp.body` under a secret that is written as `whsec_` and
 * base64. Source: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */

const SECRET_PREFIX = 'whsec_'
const VERSION = 'v1'
/** A message whose time is further from now may be one that is sent again by somebody else. */
const TOLERANCE_S = 300

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
