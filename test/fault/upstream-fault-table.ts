import type { ErrorCode } from '../../src/shared/core/errors.ts'
import type { Behaviour, Fault } from '../../src/simulator/behaviour.ts'
import type { Expectation, FaultGroup, FaultSource, KeyAfter, UpstreamFault } from '../support/upstream-fault.ts'
import {
  asEventStream,
  chunked,
  chunkedHead,
  closes,
  closesUnread,
  commentsForEver,
  compressed,
  drips,
  half,
  heartbeats,
  interimForEver,
  oversized,
  resets,
  resetsUnread,
  says,
  saysAndCloses,
  withRetryInfo,
  withSecondAnswer,
  withoutTerminal,
} from '../support/raw-plays.ts'
import type { RawPlay } from '../support/fault-upstream.ts'
import { answerHead, httpAnswer } from '../support/fault-upstream.ts'

/**
 * Every way in which an upstream has been seen to fail, and what comes of it. `src/front/gateway/upstream-faults.md` is made of
 * this table; `upstream-faults.test.ts` holds the gateway to it.
 */

const whole: Expectation = { kind: 'whole', settlement: 'exact' }
const observed: Expectation = { kind: 'whole', settlement: 'observed' }
const unreachable = refused('UPSTREAM_UNREACHABLE')
const late = refused('UPSTREAM_TIMEOUT')
const invalid = refused('UPSTREAM_INVALID_ANSWER')
const truncated = refused('UPSTREAM_TRUNCATED')
const failed = refused('UPSTREAM_ERROR')

function refused(code: ErrorCode, key: KeyAfter = 'in use', retryAfter?: number): Expectation {
  return { kind: 'refused', code, key, ...(retryAfter === undefined ? {} : { retryAfter }) }
}

/** The same, with the provider's word for it. */
function refusedAs(clientCode: string, code: ErrorCode): Expectation {
  return { kind: 'refused', code, key: 'in use', clientCode }
}

function broken(code: ErrorCode): Expectation {
  return { kind: 'broken', code }
}

function booked(prompt: number, completion: number): Expectation {
  return { kind: 'whole', settlement: 'exact', tokens: [prompt, completion] }
}

function simulated(behaviour: Behaviour): FaultSource {
  return { kind: 'simulator', behaviour: { tokens: 40, ...behaviour } }
}

function raw(play: RawPlay): FaultSource {
  return { kind: 'raw', play }
}

/** The same of both kinds of answers. */
function both(expected: Expectation): Pick<UpstreamFault, 'buffered' | 'streamed'> {
  return { buffered: expected, streamed: expected }
}

function played(fault: Fault, more: Behaviour = {}): Pick<UpstreamFault, 'name' | 'source'> {
  return { name: fault, source: simulated({ fault, ...more }) }
}

const connection: FaultGroup = {
  title: 'Before an answer',
  faults: [
    { name: 'refused', upstream: 'refuses the connection', source: { kind: 'closed port' }, ...both(unreachable) },
    {
      name: 'black-hole',
      upstream: 'never answers the attempt to connect',
      source: { kind: 'black hole' },
      hangs: true,
      ...both(unreachable),
    },
    { name: 'accept-fin', upstream: 'accepts and closes', source: raw(closesUnread), ...both(unreachable) },
    { name: 'accept-reset', upstream: 'accepts and resets', source: raw(resetsUnread), ...both(unreachable) },
    { name: 'read-fin', upstream: 'reads the request and closes', source: raw(closes), ...both(unreachable) },
    { name: 'read-reset', upstream: 'reads the request and resets', source: raw(resets), ...both(unreachable) },
    { ...played('hang-before-headers'), upstream: 'reads the request and says nothing', hangs: true, ...both(late) },
    {
      name: 'half-head',
      upstream: 'closes within the head',
      source: raw(saysAndCloses(() => 'HTTP/1.1 200 OK\r\ncontent-ty')),
      ...both(unreachable),
    },
    {
      name: 'hang-in-head',
      upstream: 'stops within the head',
      source: raw(says(() => 'HTTP/1.1 200 OK\r\ncontent-ty')),
      hangs: true,
      ...both(late),
    },
    {
      name: 'interim-for-ever',
      upstream: 'sends 103 for ever',
      source: raw(interimForEver),
      hangs: true,
      ...both(late),
    },
  ],
}

const head: FaultGroup = {
  title: 'HTTP',
  faults: [
    { ...played('garbage'), upstream: 'sends bytes that are not HTTP', ...both(invalid) },
    {
      name: 'interim',
      upstream: 'sends 100 and 103 before its answer',
      source: raw(
        says(
          (good) => `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n${httpAnswer(good)}`,
        ),
      ),
      ...both(whole),
    },
    {
      name: 'switching',
      upstream: 'switches protocols',
      source: raw(says(() => 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n')),
      ...both(invalid),
    },
    { ...played('redirect'), upstream: 'redirects; it is never followed', ...both(failed) },
    {
      name: 'no-content',
      upstream: 'answers 204',
      source: raw(says(() => 'HTTP/1.1 204 No Content\r\n\r\n')),
      ...both(failed),
    },
    {
      name: 'empty',
      upstream: 'answers 200 without a body',
      source: raw(says((good) => httpAnswer({ ...good, body: '' }))),
      buffered: invalid,
      streamed: truncated,
    },
    {
      name: 'large-head',
      upstream: 'sends a head of 100 KB',
      source: raw(says((good) => httpAnswer(good, [`x-large: ${'x'.repeat(100_000)}`]))),
      ...both(invalid),
    },
    {
      name: 'large-body',
      upstream: 'sends more than `limits.max_answer_bytes`, or an event over 8 MiB',
      source: raw(says(oversized)),
      ...both(invalid),
    },
    {
      name: 'two-lengths',
      upstream: 'sends two different Content-Lengths',
      source: raw(says((good) => httpAnswer(good, ['content-length: 3']))),
      ...both(invalid),
    },
    {
      name: 'length-and-chunks',
      upstream: 'sends Content-Length and Transfer-Encoding; the chunks count, the connection is given up',
      source: raw(
        says((good) => answerHead(good, ['content-length: 10', 'transfer-encoding: chunked']) + chunked(good.body)),
      ),
      ...both(whole),
    },
    {
      name: 'bad-chunk-size',
      upstream: 'sends a chunk size that is not hexadecimal, after half of its answer',
      source: raw(says((good) => `${chunkedHead(good)}${chunked(half(good)).slice(0, -5)}zz\r\nhello\r\n0\r\n\r\n`)),
      buffered: truncated,
      streamed: broken('UPSTREAM_TRUNCATED'),
    },
    {
      name: 'huge-chunk-size',
      upstream: 'sends a chunk size beyond 64 bits',
      source: raw(says((good) => `${chunkedHead(good)}fffffffffffffffff\r\nhello\r\n`)),
      ...both(truncated),
    },
    {
      name: 'no-last-chunk',
      upstream: 'closes after a whole body, but before the last chunk',
      source: raw(saysAndCloses((good) => chunkedHead(good) + chunked(good.body).slice(0, -5))),
      buffered: truncated,
      streamed: whole,
    },
    {
      name: 'no-terminal-no-last-chunk',
      upstream: 'closes after the finish reason of a stream, before its terminal event and the last chunk',
      source: raw(saysAndCloses((good) => chunkedHead(good) + chunked(withoutTerminal(good)).slice(0, -5))),
      buffered: null,
      streamed: whole,
    },
    {
      name: 'wrong-content-length-short',
      upstream: 'sends 10 bytes more than it declared',
      source: simulated({ fault: 'wrong-content-length-short' }),
      buffered: invalid,
      streamed: whole,
    },
    {
      name: 'wrong-content-length-long',
      upstream: 'closes 10 bytes before the length it declared',
      source: simulated({ fault: 'wrong-content-length-long' }),
      buffered: truncated,
      streamed: whole,
    },
    {
      name: 'compressed',
      upstream: 'compresses, though nobody asked for it',
      source: raw(says(compressed)),
      ...both(invalid),
    },
    {
      name: 'second-answer',
      upstream: 'sends a second answer that nobody asked for',
      source: raw(says(withSecondAnswer)),
      ...both(whole),
    },
    {
      name: 'http-1.0',
      upstream: 'ends its answer with the connection, as HTTP/1.0 did',
      source: raw(saysAndCloses((good) => answerHead(good, []).replace('1.1', '1.0') + good.body)),
      ...both(whole),
    },
  ],
}

const body: FaultGroup = {
  title: 'Within an answer',
  faults: [
    { ...played('reset-after-headers'), upstream: 'resets behind the head', ...both(truncated) },
    { ...played('hang-after-headers'), upstream: 'says nothing behind the head', hangs: true, ...both(late) },
    {
      ...played('reset-mid-stream'),
      upstream: 'resets in the middle',
      buffered: truncated,
      streamed: broken('UPSTREAM_TRUNCATED'),
    },
    {
      ...played('hang-mid-stream'),
      upstream: 'stops in the middle',
      hangs: true,
      buffered: late,
      streamed: broken('UPSTREAM_TIMEOUT'),
    },
    {
      ...played('close-mid-stream'),
      upstream: 'closes in the middle',
      buffered: truncated,
      streamed: broken('UPSTREAM_TRUNCATED'),
    },
    {
      name: 'close-delimited',
      upstream: 'closes in the middle of an answer that ends with the connection',
      source: raw(saysAndCloses((good) => answerHead(good, ['connection: close']) + half(good))),
      buffered: invalid,
      streamed: broken('UPSTREAM_TRUNCATED'),
    },
    {
      ...played('slow-bytes'),
      upstream: 'sends a byte per second, which `timeouts.idle_ms` does not count',
      hangs: 'idle',
      ...both(late),
    },
    {
      name: 'drips',
      upstream: 'sends three bytes per second, each a chunk of its own',
      source: raw(drips),
      hangs: 'idle',
      ...both(late),
    },
    {
      name: 'heartbeats',
      upstream: 'sends comments, `ping` events or blank lines for longer than `timeouts.idle_ms`, then its answer',
      source: raw(heartbeats),
      hangs: 'idle',
      ...both(whole),
    },
    { ...played('byte-by-byte'), upstream: 'sends every byte by itself', ...both(whole) },
    { ...played('split-utf8', { text: 'Grüße 😀 日本語 ü' }), upstream: 'cuts within characters', ...both(whole) },
    { ...played('crlf'), upstream: 'ends lines with CRLF', ...both(whole) },
    { ...played('comments'), upstream: 'sends comments between events', ...both(whole) },
    {
      name: 'comments-for-ever',
      upstream: 'sends comments and never an event, until `timeouts.total_ms`',
      source: raw(commentsForEver),
      hangs: true,
      buffered: null,
      streamed: { kind: 'refused', code: 'UPSTREAM_TIMEOUT', key: 'in use', isLast: true },
    },
    { ...played('long-line'), upstream: 'sends a line of 1 MiB', ...both(whole) },
  ],
}

const content: FaultGroup = {
  title: 'What an answer says',
  faults: [
    {
      ...played('truncated-json'),
      upstream: 'sends half of a JSON text',
      buffered: invalid,
      streamed: broken('UPSTREAM_INVALID_ANSWER'),
    },
    {
      ...played('garbage-event'),
      upstream: 'sends an event, or a body, that is no JSON',
      buffered: invalid,
      streamed: broken('UPSTREAM_INVALID_ANSWER'),
    },
    { ...played('error-in-200'), upstream: 'sends an error body under 200', ...both(failed) },
    {
      ...played('error-event-first'),
      only: { 'anthropic-messages': { streamed: refused('UPSTREAM_OVERLOADED', 'rests') } },
      upstream: 'sends an error as its first event',
      ...both(failed),
    },
    {
      ...played('error-event-mid'),
      only: { 'anthropic-messages': { streamed: broken('UPSTREAM_OVERLOADED') } },
      upstream: 'sends an error event in the middle',
      buffered: failed,
      streamed: broken('UPSTREAM_ERROR'),
    },
    {
      ...played('bare-json'),
      upstream: 'sends a whole body where a stream was asked for',
      buffered: whole,
      streamed: whole,
    },
    {
      name: 'stream-for-body',
      upstream: 'sends a stream that breaks off where a whole body was asked for',
      source: raw(says(asEventStream)),
      buffered: refused('UPSTREAM_TRUNCATED'),
      streamed: null,
    },
    { ...played('html'), upstream: "sends a proxy's page under 502", ...both(failed) },
    {
      name: 'html-200',
      upstream: 'sends a page under 200',
      source: simulated({ fault: 'html', status: 200 }),
      ...both(invalid),
    },
    {
      ...played('no-terminal'),
      upstream: 'ends a whole stream without its terminal event, which is added',
      ...both(whole),
    },
    {
      ...played('early-terminal'),
      upstream: 'sends the terminal event in the middle',
      buffered: whole,
      streamed: observed,
    },
    { ...played('double-terminal'), upstream: 'sends the terminal event twice; one is passed on', ...both(whole) },
  ],
}

/** An error status with the body of the dialect. */
function status(code: number, expected: Expectation, more: Behaviour = {}, says = ''): UpstreamFault {
  const name = says === '' ? `status-${code}` : `status-${code}-${says.replaceAll(/[^a-z0-9]+/gi, '-')}`
  return {
    name,
    upstream: `answers ${code}${says === '' ? '' : `, ${says}`}`,
    source: simulated({ status: code, ...more }),
    ...both(expected),
  }
}

const REST = 'rests'
const TOLD = 'rests as told'
const ONCE = 'Sun, 06 Nov 2044 08:49:37 GMT'

const statuses: FaultGroup = {
  title: 'Error statuses',
  faults: [
    status(400, refusedAs('invalid_value', 'UPSTREAM_INVALID_REQUEST')),
    status(401, refused('UPSTREAM_AUTH', 'out')),
    status(402, refused('UPSTREAM_AUTH', 'out')),
    status(403, refused('UPSTREAM_AUTH', 'out')),
    status(404, refused('UPSTREAM_NOT_FOUND')),
    status(408, late),
    status(409, failed),
    status(413, refusedAs('request_too_large', 'UPSTREAM_BODY_TOO_LARGE')),
    status(418, refused('UPSTREAM_INVALID_REQUEST')),
    status(422, refusedAs('unprocessable_entity', 'UPSTREAM_INVALID_REQUEST')),
    status(429, refused('UPSTREAM_RATE_LIMITED', REST), { retryAfter: null }, 'without retry-after'),
    status(429, refused('UPSTREAM_RATE_LIMITED', TOLD, 40), { retryAfter: 40 }, 'retry-after in seconds'),
    status(429, refused('UPSTREAM_RATE_LIMITED', TOLD), { retryAfter: ONCE }, 'retry-after as a date'),
    status(
      429,
      refused('UPSTREAM_RATE_LIMITED', TOLD, 50),
      { retryAfter: null, headers: { 'retry-after-ms': '50000' } },
      'retry-after-ms',
    ),
    {
      name: 'status-429-retry-info',
      upstream: "answers 429, with Google's `RetryInfo` in the body",
      source: raw(says(withRetryInfo)),
      ...both(refused('UPSTREAM_RATE_LIMITED', TOLD, 40)),
    },
    status(429, refused('UPSTREAM_RATE_LIMITED', REST), { retryAfter: 'soon' }, 'retry-after that cannot be read'),
    status(500, failed),
    status(501, refused('UPSTREAM_NOT_FOUND')),
    status(502, failed),
    status(503, refused('UPSTREAM_OVERLOADED', REST), { retryAfter: null }),
    status(503, refused('UPSTREAM_OVERLOADED', TOLD, 40), { retryAfter: 40 }, 'with retry-after'),
    status(504, late),
    status(529, refused('UPSTREAM_OVERLOADED', REST), { retryAfter: null }),
    status(599, failed),
  ],
}

function usage(mode: Behaviour['usage'] & string, upstream: string, expected: Expectation): UpstreamFault {
  return { name: `usage-${mode}`, upstream, source: simulated({ usage: mode, tokens: 5 }), ...both(expected) }
}

const figures: FaultGroup = {
  title: 'Usage',
  faults: [
    usage('absent', 'tells no usage', observed),
    usage('zero', 'tells zeros, which are believed', booked(0, 0)),
    usage('negative', 'tells negative figures, which are not believed', observed),
    usage('huge', 'tells figures beyond 2^53, which are not believed', observed),
    usage('string', 'tells figures as texts', booked(2, 5)),
    usage('late', 'tells usage long after the finish reason', booked(2, 5)),
    { ...usage('after-terminal', 'tells usage behind the terminal event', observed), buffered: booked(2, 5) },
  ],
}

export const UPSTREAM_FAULTS: readonly FaultGroup[] = [connection, head, body, content, statuses, figures]
