import { GatewayError } from '../../shared/core/errors.ts'

const MAX_DEPTH = 64
/** Messages of a batch. */
export const MAX_BATCH = 50

/** The JSON of a body. Throws INVALID_JSON, JSON_TOO_DEEP. */
export function parseMessage(body: Buffer): unknown {
  let value: unknown
  try {
    value = JSON.parse(body.toString('utf8')) as unknown
  } catch {
    throw new GatewayError('INVALID_JSON')
  }
  if (isDeeper(value, MAX_DEPTH)) {
    throw new GatewayError('JSON_TOO_DEEP', { message: `The body is nested more than ${MAX_DEPTH} levels deep.` })
  }
  return value
}

/** Looks level by level: a recursion could exhaust the stack. */
export function isDeeper(value: unknown, most: number): boolean {
  let level: unknown[] = [value]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > most) return true
    level = level.flatMap((one) => (typeof one === 'object' && one !== null ? (Object.values(one) as unknown[]) : []))
  }
  return false
}
