import { gzipSync } from 'node:zlib'
import type { GoodAnswer, RawPlay } from './fault-upstream.ts'
import { answerHead, httpAnswer } from './fault-upstream.ts'

/** Ways to answer that a server's own HTTP would not let through. */

/** Beyond `limits.max_answer_bytes` of the table's gateway, and what one event may be. */
export const OVERSIZE_BYTES = 9 * 1024 * 1024

const CHUNKED = ['transfer-encoding: chunked']

export const closesUnread: RawPlay = { at: 'door', act: (socket) => socket.end() }
export const resetsUnread: RawPlay = { at: 'door', act: (socket) => socket.resetAndDestroy() }
export const resets: RawPlay = { at: 'request', act: (socket) => socket.resetAndDestroy() }
export const closes: RawPlay = { at: 'request', act: (socket) => socket.end() }

/** Writes this, and keeps the connection. */
export function says(text: (good: GoodAnswer) => string | Buffer): RawPlay {
  return { at: 'request', act: (socket, good) => socket.write(text(good)) }
}

/** Writes this, and closes. */
export function saysAndCloses(text: (good: GoodAnswer) => string | Buffer): RawPlay {
  return { at: 'request', act: (socket, good) => socket.end(text(good)) }
}

/** Another interim answer every 200 ms, and never a final one. */
export const interimForEver: RawPlay = {
  at: 'request',
  act: (socket) => {
    const timer = setInterval(() => socket.write('HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'), 200)
    socket.once('close', () => {
      clearInterval(timer)
    })
  },
}

/** The answer, a byte every 300 ms. */
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

/** What shows that an upstream is alive, every 300 ms for three seconds, then the answer. */
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

/** A comment every 200 ms, and never an event. */
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

/** The first half of the body, where a client would have seen something of a stream. */
export function half({ body }: GoodAnswer): string {
  return body.slice(0, body.length >> 1)
}

export function compressed(good: GoodAnswer): Buffer {
  const body = gzipSync(good.body)
  const head = answerHead(good, ['content-encoding: gzip', `content-length: ${body.length}`])
  return Buffer.concat([Buffer.from(head), body])
}

/** A whole text that is too large, in one event where it is a stream. */
export function oversized(good: GoodAnswer): string {
  const text = 'x'.repeat(OVERSIZE_BYTES)
  return httpAnswer({ ...good, body: good.contentType === 'text/event-stream' ? `data: ${text}` : `"${text}"` })
}

/** A good answer, and behind it one that nobody asked for. */
export function withSecondAnswer(good: GoodAnswer): string {
  return httpAnswer(good) + httpAnswer({ contentType: 'application/json', body: '{"poisoned":true}' })
}

export function asEventStream(): string {
  return httpAnswer({ contentType: 'text/event-stream', body: 'data: {"choices":[]}\n\n' })
}

function chunk(text: string): string {
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`
}
