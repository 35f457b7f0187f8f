import { requestText } from './wire-client.ts'

/** A request that must be refused. Another parser might take a part of its bytes for a second request. */
export interface Vector {
  readonly name: string
  /** Everything before the hidden request. */
  readonly bytes: string
  /** The server waits for the end of its head, and closes the connection at the timeout without an answer. */
  readonly endless?: true
}

const GET = 'GET /health/live HTTP/1.1'
const POST = 'POST /v1/chat/completions HTTP/1.1'
const HOST = 'Host: gateway'
const CHUNKED = 'Transfer-Encoding: chunked'

/** RFC 9112 §2.2, §3.2, §5.1, §5.2: heads that every route must refuse. */
export function headVectors(): Vector[] {
  const get = (...headers: string[]): string => requestText(GET, headers)
  return [
    { name: 'no Host', bytes: get() },
    { name: 'an empty Host', bytes: get('Host:') },
    { name: 'a Host of blanks', bytes: get('Host:  ') },
    { name: 'a Host that is a port alone', bytes: get('Host: :80') },
    { name: 'two Hosts', bytes: get('Host: a', 'Host: b') },
    { name: 'the same Host twice', bytes: get(HOST, HOST) },
    { name: 'a Host with a space', bytes: get('Host: a b') },
    { name: 'a Host with a path', bytes: get('Host: a/b') },
    { name: 'a Host with a user', bytes: get('Host: x@a') },
    { name: 'two Hosts in one field', bytes: get('Host: a, b') },
    { name: 'a Host with a port that is no number', bytes: get('Host: a:b') },
    { name: 'a space before the colon', bytes: get(HOST, 'X : 1') },
    { name: 'a tab before the colon', bytes: get(HOST, 'X\t: 1') },
    { name: 'a name with a parenthesis', bytes: get(HOST, 'X(: 1') },
    { name: 'a name with a high byte', bytes: get(HOST, 'X\xe9: 1') },
    { name: 'a name with a NUL', bytes: get(HOST, 'X\0: 1') },
    { name: 'a line without a colon', bytes: get(HOST, 'X') },
    { name: 'a space before the first field', bytes: get(` ${HOST}`, HOST) },
    { name: 'obs-fold with a space', bytes: get(HOST, 'X: 1', ' 2') },
    { name: 'obs-fold with a tab', bytes: get(HOST, 'X: 1', '\t2') },
    { name: 'obs-fold that hides a length', bytes: get(HOST, 'X: 1', ' Content-Length: 5') },
    { name: 'a NUL in a value', bytes: get(HOST, 'X: a\0b') },
    { name: 'a control byte in a value', bytes: get(HOST, 'X: a\x01b') },
    { name: 'DEL in a value', bytes: get(HOST, 'X: a\x7fb') },
    { name: 'a bare LF in a value', bytes: get(HOST, 'X: a\nY: b') },
    { name: 'a bare LF that begins a second head', bytes: get(HOST, 'X: a\n\nGET /health HTTP/1.1') },
    { name: 'bare LF for all line ends', bytes: `${GET}\n${HOST}\n\n` },
    { name: 'a bare LF after the request line', bytes: `${GET}\n${HOST}\r\n\r\n` },
    { name: 'a bare LF after the last field', bytes: `${GET}\r\n${HOST}\n\r\n` },
    { name: 'a bare LF for the blank line', bytes: `${GET}\r\n${HOST}\r\n\n` },
    { name: 'two spaces in the request line', bytes: requestText('GET  /health/live HTTP/1.1', [HOST]) },
    { name: 'tabs in the request line', bytes: requestText('GET\t/health/live\tHTTP/1.1', [HOST]) },
    { name: 'a control byte in the path', bytes: requestText('GET /health/\x01 HTTP/1.1', [HOST]) },
    { name: 'a raw byte in the path', bytes: requestText('GET /health/l\xefve HTTP/1.1', [HOST]) },
    { name: 'raw UTF-8 in the path', bytes: requestText('GET /health/l\xc3\xafve HTTP/1.1', [HOST]) },
    { name: 'a raw byte in the query', bytes: requestText('GET /health/live?a=\x80 HTTP/1.1', [HOST]) },
    { name: 'a raw byte where there is no route', bytes: requestText('GET /\xff HTTP/1.1', [HOST]) },
    { name: 'a fragment behind the path', bytes: requestText('GET /health/live#a HTTP/1.1', [HOST]) },
    { name: 'a fragment behind the query', bytes: requestText('GET /health/live?a#b HTTP/1.1', [HOST]) },
    { name: 'a method that is no token', bytes: requestText('G(T /health/live HTTP/1.1', [HOST]) },
    { name: 'HTTP/1.0', bytes: requestText('GET /health/live HTTP/1.0', [HOST]) },
    { name: 'HTTP/1.2', bytes: requestText('GET /health/live HTTP/1.2', [HOST]) },
    { name: 'HTTP/2.0', bytes: requestText('GET /health/live HTTP/2.0', [HOST]) },
    { name: 'an absolute target', bytes: requestText('GET http://evil/health/live HTTP/1.1', [HOST]) },
    { name: 'HTTP/5.6', bytes: requestText('GET /health/live HTTP/5.6', [HOST]) },
    { name: 'another protocol', bytes: requestText('GET /health/live ICE/1.0', [HOST]) },
    { name: 'a protocol that ends in HTTP', bytes: requestText('GET /health/live IHTTP/1.1', [HOST]) },
    { name: 'a protocol in small letters', bytes: requestText('GET /health/live http/1.1', [HOST]) },
    { name: 'a version without its dot', bytes: requestText('GET /health/live HTTP/11', [HOST]) },
    { name: 'a request line without a version', bytes: requestText('GET /health/live', [HOST]), endless: true },
    { name: 'a word behind the version', bytes: requestText('GET /health/live HTTP/1.1 x', [HOST]) },
    { name: 'a method with an at sign', bytes: requestText('G@T /health/live HTTP/1.1', [HOST]) },
    { name: 'a bare CR between two fields', bytes: get(HOST, 'X: 1\rY: 2'), endless: true },
    { name: 'a bare CR before a hidden length', bytes: get(HOST, 'X: 1\rContent-Length: 5'), endless: true },
    { name: 'a bare CR behind an empty value', bytes: get(HOST, 'X:\rTransfer-Encoding: chunked'), endless: true },
    { name: 'a bare LF before a hidden encoding', bytes: get(HOST, 'x:x\nTransfer-Encoding: chunked') },
    { name: 'a bare LF behind an empty value', bytes: get(HOST, 'x:\nTransfer-Encoding: chunked') },
    { name: 'a bare LF before a hidden length', bytes: get(HOST, 'X: x\nContent-Length: 23') },
    { name: 'a letter in the blank line', bytes: `${GET}\r\n${HOST}\r\n\rZ` },
    { name: 'two CRs at the end of a line', bytes: get(`${HOST}\r`, 'X: 1'), endless: true },
    { name: 'an at sign in a name', bytes: get(HOST, 'Fo@: 1') },
    { name: 'control bytes in a name', bytes: get(HOST, 'Foo\x01\test: 1') },
    { name: 'a bare CR in a name', bytes: get(HOST, 'Content\rLength: 3') },
    { name: 'a folded name', bytes: get(HOST, 'name', ' : value') },
    { name: 'a name cut off by CR and ESC', bytes: get(HOST, 'Connection\r\x1b5\xd5eep-Alive') },
    { name: 'a space before a field in the middle', bytes: get(HOST, 'X: 1', ' Content-Length: 38') },
    { name: 'a tab before the first field', bytes: get(`\t${HOST}`, HOST) },
    { name: 'a tunnel', bytes: requestText('CONNECT evil:443 HTTP/1.1', ['Host: evil:443']) },
  ]
}

/** RFC 9112 §6.1-6.3, §11.2: bodies for which two parsers may find different ends. */
export function framingVectors(headers: readonly string[], body: string): Vector[] {
  const length = `Content-Length: ${body.length}`
  const chunks = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
  const post = (fields: readonly string[], content: string): string =>
    requestText(POST, [HOST, ...headers, ...fields], content)
  const lengths = [
    '+5',
    '-5',
    '0x5',
    '5 5',
    '5,5',
    '5, 5',
    '5;',
    '5_',
    '5.0',
    '1e1',
    'five',
    '',
    '"5"',
    '05e',
    '99999999999999999999',
    '1000000000000000000000',
    '4 2',
    '13 37',
    '5\x00',
    '٥',
  ]
  const encodings = [
    'identity',
    'xchunked',
    'gzip',
    'gzip, chunked',
    'chunked, identity',
    'chunked, chunked',
    ',chunked',
    'chunked;q=1',
    '"chunked"',
    '\x0bchunked',
    'chunked\x00',
    'pigeons',
    'chunkedchunked',
    'chunked,',
    'chunked foo',
    'chunked, deflate',
    'deflate, chunked',
    'x chunked',
    '',
  ]
  return [
    { name: 'the same Content-Length twice', bytes: post([length, length], body) },
    { name: 'Content-Length, then 0', bytes: post([length, 'Content-Length: 0'], body) },
    { name: 'Content-Length 0, then the right one', bytes: post(['Content-Length: 0', length], body) },
    { name: 'CL.TE', bytes: post([length, CHUNKED], chunks) },
    { name: 'CL.TE with a length of the whole', bytes: post([`Content-Length: ${chunks.length}`, CHUNKED], chunks) },
    { name: 'TE.CL', bytes: post([CHUNKED, 'Content-Length: 4'], chunks) },
    { name: 'TE.CL with a length of 0', bytes: post([CHUNKED, 'Content-Length: 0'], chunks) },
    { name: 'Transfer-Encoding twice', bytes: post([CHUNKED, CHUNKED], chunks) },
    { name: 'chunked, then identity', bytes: post([CHUNKED, 'Transfer-Encoding: identity'], chunks) },
    { name: 'a space after the name Transfer-Encoding', bytes: post(['Transfer-Encoding : chunked'], chunks) },
    { name: 'a space after the name Content-Length', bytes: post([`Content-Length : ${body.length}`], body) },
    { name: 'a folded Transfer-Encoding', bytes: post(['Transfer-Encoding:', ' chunked'], chunks) },
    { name: 'an empty name before the length', bytes: post([': x', length], body) },
    { name: 'an empty name before the encoding', bytes: post([': x', CHUNKED], chunks) },
    { name: 'an empty Transfer-Encoding and a length', bytes: post(['Transfer-Encoding:', length], body) },
    {
      name: 'three empty Transfer-Encodings and a length',
      bytes: post([length, 'Transfer-Encoding:', 'Transfer-Encoding:', 'Transfer-Encoding:'], chunks),
    },
    { name: 'Transfer-Encoding identity and a length', bytes: post(['Transfer-Encoding: identity', length], body) },
    {
      name: 'a bare CR before Transfer-Encoding',
      bytes: post([`${length}\rTransfer-Encoding: chunked`], chunks),
      endless: true,
    },
    { name: 'a bare LF before Transfer-Encoding', bytes: post([`${length}\nTransfer-Encoding: chunked`], chunks) },
    { name: 'Content-Length ended by two CRs', bytes: post([`${length}\r`], body), endless: true },
    { name: 'a folded Content-Length', bytes: post(['Content-Length:', ` ${body.length}`], body) },
    { name: 'a length cut by a fold', bytes: post(['Content-Length: 1', ' 2'], body) },
    { name: 'neither length nor encoding', bytes: post([], '') },
    ...lengths.map((value) => ({
      name: `Content-Length ${JSON.stringify(value)}`,
      bytes: post([`Content-Length: ${value}`], 'hello'),
    })),
    ...encodings.map((value) => ({
      name: `Transfer-Encoding ${JSON.stringify(value)}`,
      bytes: post([`Transfer-Encoding: ${value}`], chunks),
    })),
  ]
}

/** RFC 9112 §7.1: malformed chunks, on a route that reads the body and on one that does not. */
export function chunkVectors(headers: readonly string[], body: string): Vector[] {
  const size = body.length.toString(16)
  const sizes = [
    `${size};a`,
    `${size};a=b`,
    `${size};\n`,
    `+${size}`,
    `-${size}`,
    ` ${size}`,
    `${size} `,
    `${size}\t`,
    `0x${size}`,
    `${size}_0`,
    '',
    'g',
    `${size}\n`,
    'fffffffffffffffff',
    `0000000000000000${size}`,
    `${size} a`,
    `${size};`,
    `${size};a="b`,
    `${size};a="b;c\r\n`,
    `${size};a;b=c`,
    `${size}\rX`,
    `${size}\x00`,
    `\n${size}`,
    `${size},${size}`,
    '7fffffffffffffff',
    'ffffffffffffffff',
  ]
  const bodies = [
    ...sizes.map((text) => ({
      name: `chunk size ${JSON.stringify(text)}`,
      content: `${text}\r\n${body}\r\n0\r\n\r\n`,
    })),
    { name: 'a chunk without its line end', content: `${size}\r\n${body}XX0\r\n\r\n` },
    { name: 'a chunk that ends in a bare LF', content: `${size}\r\n${body}\n0\r\n\r\n` },
    { name: 'a chunk that ends in a bare CR', content: `${size}\r\n${body}\r0\r\n\r\n` },
    { name: 'a chunk longer than its size', content: `${size}\r\n${body}${body}\r\n0\r\n\r\n` },
    { name: 'sizes that end in a bare CR', content: `${size}\r${body}\r0\r\r` },
    { name: 'nothing but bare LFs', content: `${size}\n${body}\n0\n\n` },
    { name: 'a trailer without a colon', content: `${size}\r\n${body}\r\n0\r\nX\r\n\r\n` },
    { name: 'a last chunk with an extension', content: `${size}\r\n${body}\r\n0;a\r\n\r\n` },
    { name: 'a trailer', content: `${size}\r\n${body}\r\n0\r\nX: y\r\n\r\n` },
    { name: 'a last chunk that ends in a bare LF', content: `${size}\r\n${body}\r\n0\n\r\n` },
  ]
  return bodies.flatMap(({ name, content }) => [
    { name: `${name} (POST)`, bytes: requestText(POST, [HOST, ...headers, CHUNKED], content) },
    { name: `${name} (GET)`, bytes: requestText(GET, [HOST, CHUNKED], content) },
    { name: `${name} (no route)`, bytes: requestText('DELETE /nothing HTTP/1.1', [HOST, CHUNKED], content) },
  ])
}
