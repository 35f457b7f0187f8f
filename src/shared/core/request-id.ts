import { randomBytes } from 'node:crypto'

const PROCESS = randomBytes(6).toString('hex')
let sequence = 0

/** A new request id: time, process and sequence, so that ids sort by time and never repeat on any machine. */
export function newRequestId(nowMs: number): string {
  sequence = (sequence + 1) % 0x1000000
  return `req_${nowMs.toString(36)}${PROCESS}${sequence.toString(16).padStart(6, '0')}`
}

/** No id of this time or later sorts before it, and every id of an earlier time does. */
export function firstRequestIdOf(atMs: number): string {
  return `req_${Math.max(0, atMs).toString(36).padStart(8, '0')}`
}

const ID = /^req_([0-9a-z]{8})[0-9a-f]{18}$/

/** When the request with this id arrived, in Unix milliseconds; null when it is not an id of a gateway. */
export function timeOfRequestId(id: string): number | null {
  const match = ID.exec(id)
  return match?.[1] === undefined ? null : Number.parseInt(match[1], 36)
}
