import { gzipSync } from 'node:zlib'
import type { GoodAnswer, RawPlay } from './fault-upstream.ts'
import { answerHead, httpAnswer } from './fault-upstream.ts'

/** Answers that an HTTP library of a server would not send. */

/** Larger than `limits.max_answer_bytes` of the table's gateway, and than the largest event. */
export const OVERSIZE_BYTES = 9 * 1024 * 1024

const CHUNKED = ['transfer-encoding: chunked']

export const closesUnread: RawPlay = { at: 'door', act: (socket) => socket.end() }
export const resetsUnread: RawPlay = { at: 'door', act: (socket) => socket.resetAndDestroy() }
export const resets: RawPlay = { at: 'request', act: (socket) => socket.resetAndDestroy() }
export const closes: RawPlay = { at: 'request', act: (socket) => socket.end() }

/** Writes the text and keeps the connection. */
export function says(text: (good: GoodAnswer) => string | Buffer): RawPlay {
  return { at: 'request', act: (socket, good) => socket.write(text(good)) }
}

/** Writes the text and closes the connection. */
export function saysAndCloses(text: (good: GoodAnswer) => string | Buffer): RawPlay {
  return { at: 'request', act: (socket, good) => socket.end(text(good)) }
}

/** Sends an interim answer every 200 ms, and never a final one. */
export const interimForEver: RawPlay = {
  at: 'request',
  act: (socket) => {
    const timer = setInterval(() => socket.write('HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'), 200)
    socket.once('close', () => {
      clearInterval(timer)
    })
  },
}

/** Sends the answer, one byte every 300 ms. */
export const drips: RawPlay = {
  at: 'request',
  act: (socket, good) => {
    socket.write(answerHead(good, CHUNKED))
    let at = 0
    const timer = setInterval(() => socket.write(chunk(good.body.charAt(at++))), 300)
    socket.once('close', () => {
      clearInterval(timer)
    })
  },
}

/** Sends a heartbeat every 300 ms for three seconds, then the answer. */
export const heartbeats: RawPlay = {
  at: 'request',
  act: (socket, good) => {
    socket.write(answerHead(good, CHUNKED))
    const beat = chunk(heartbeatOf(good))
    let beats = 0
    const timer = setInterval(() => {
      beats += 1
      socket.write(beats <= 10 ? beat : chunked(good.body))
      if (beats > 10) clearInterval(timer)
    }, 300)
    socket.once('close', () => {
      clearInterval(timer)
    })
  },
}

function heartbeatOf({ contentType, body }: GoodAnswer): string {
  if (contentType !== 'text/event-stream') return '\n'
  return body.startsWith('event:') ? 'event: ping\ndata: {"type":"ping"}\n\n' : ': PROCESSING\n\n'
}

/** Sends a comment every 200 ms, and never an event. */
export const commentsForEver: RawPlay = {
  at: 'request',
  act: (socket, good) => {
    socket.write(answerHead(good, CHUNKED))
    const timer = setInterval(() => socket.write(chunk(': PROCESSING\n\n')), 200)
    socket.once('close', () => {
      clearInterval(timer)
    })
  },
}

export function chunked(...pieces: string[]): string {
  return `${pieces.map(chunk).join('')}0\r\n\r\n`
}

export function chunkedHead(good: GoodAnswer): string {
  return answerHead(good, CHUNKED)
}

/** The first half of the body; of a stream, it contains events that a client can see. */
export function half({ body }: GoodAnswer): string {
  return body.slice(0, body.length >> 1)
}

/** The body of a stream without its last event. */
export function withoutTerminal({ body }: GoodAnswer): string {
  return body.slice(0, body.lastIndexOf('\n\n', body.length - 3) + 2)
}

export function compressed(good: GoodAnswer): Buffer {
  const body = gzipSync(good.body)
  const head = answerHead(good, ['content-encoding: gzip', `content-length: ${body.length}`])
  return Buffer.concat([Buffer.from(head), body])
}

/** A complete text that is too large; of a stream, in one event. */
export function oversized(good: GoodAnswer): string {
  const text = 'x'.repeat(OVERSIZE_BYTES)
  return httpAnswer({ ...good, body: good.contentType === 'text/event-stream' ? `data: ${text}` : `"${text}"` })
}

/** A correct answer, followed by an answer without a request. */
export function withSecondAnswer(good: GoodAnswer): string {
  return httpAnswer(good) + httpAnswer({ contentType: 'application/json', body: '{"poisoned":true}' })
}

/** A 429 of Google, which asks for a wait of 40 seconds in its body. */
export function withRetryInfo(): string {
  const details = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '40s' }]
  const body = JSON.stringify({ error: { code: 429, message: 'Too many.', status: 'RESOURCE_EXHAUSTED', details } })
  return httpAnswer({ contentType: 'application/json', body }).replace('200 OK', '429 Too Many Requests')
}

export function asEventStream(): string {
  return httpAnswer({ contentType: 'text/event-stream', body: 'data: {"choices":[]}\n\n' })
}

function chunk(text: string): string {
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`
}
