import type { UpstreamFailure } from '../../shared/core/dialect.ts'
import { objects, textOr } from './fields.ts'
import { asObject } from './json-value.ts'
import type { JsonObject } from './json-value.ts'

const MAX_MESSAGE_LENGTH = 2000
const MAX_TYPE_LENGTH = 100
const MAX_TEXT_BYTES = 64 * 1024
const MAX_PAGE_LENGTH = 300
const MAX_DEPTH = 4
const MAX_DETAILS = 10
const RETRY_INFO = 'google.rpc.RetryInfo'
const SECONDS = /^(\d{1,6}(?:\.\d{1,9})?)s$/

/** Reads an error body of any form: JSON of any kind, HTML, plain text, nothing. */
export function readFailureBody(body: Buffer): UpstreamFailure {
  const value = parse(body)
  if (value !== undefined) return failureOf(value)
  const text = body.toString('utf8', 0, MAX_TEXT_BYTES).trim()
  return { message: cut(looksLikeMarkup(text) ? textOfPage(text) : text), type: '' }
}

/** Reads an error from the parsed JSON of any service. */
export function failureOf(value: unknown): UpstreamFailure {
  const error = errorOf(value, 0)
  const code = wordOf(error?.['code'])
  const param = wordOf(error?.['param'])
  const details = objects(error?.['details']).slice(0, MAX_DETAILS)
  const reasons = reasonsOf(error, details)
  const waitSeconds = waitOf(details)
  return {
    message: cut(messageOf(value, 0)),
    type: cleanUp(typeOf(value, 0)).slice(0, MAX_TYPE_LENGTH),
    ...(code === null ? null : { code }),
    ...(param === null ? null : { param }),
    ...(reasons.length === 0 ? null : { reasons }),
    ...(waitSeconds === null ? null : { retryAfterSeconds: waitSeconds }),
  }
}

/** The object that describes the error. */
function errorOf(value: unknown, depth: number): JsonObject | null {
  if (depth > MAX_DEPTH) return null
  if (Array.isArray(value)) return errorOf(value[0], depth + 1)
  const object = asObject(value)
  return object === null ? null : (errorOf(object['error'], depth + 1) ?? object)
}

function wordOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? cleanUp(value).slice(0, MAX_TYPE_LENGTH) : null
}

/** Reasons as Google gives them: `status`, and `reason` of each detail. */
function reasonsOf(error: JsonObject | null, details: readonly JsonObject[]): string[] {
  return [error?.['status'], ...details.map(({ reason }) => reason)].flatMap((reason) => wordOf(reason) ?? [])
}

/** Seconds to wait. Google tells them in the body (`"34.07s"`), not in a header. */
function waitOf(details: readonly JsonObject[]): number | null {
  const info = details.find((detail) => textOr(detail['@type'], '').endsWith(RETRY_INFO))
  const seconds = SECONDS.exec(textOr(info?.['retryDelay'], ''))?.[1]
  return seconds === undefined ? null : Number(seconds)
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    return undefined
  }
}

function messageOf(value: unknown, depth: number): string {
  if (typeof value === 'string') return value
  if (depth > MAX_DEPTH) return ''
  if (Array.isArray(value)) return joinMessages(value, depth)
  const object = asObject(value)
  if (object === null) return ''
  for (const name of [
    'error',
    'message',
    'Message',
    'detail',
    'msg',
    'error_description',
    'errors',
    'details',
    'title',
  ]) {
    const member = object[name]
    // `{"error":true,"message":…}`: a flag has no message.
    const message = member === undefined ? '' : messageOf(member, depth + 1)
    if (message !== '') return withCause(message, object)
  }
  return ''
}

/** Appends the real provider's message. Aggregators keep it in `metadata.raw`. */
function withCause(message: string, error: JsonObject): string {
  const raw = asObject(error['metadata'])?.['raw']
  return typeof raw === 'string' && raw !== '' && raw !== message ? `${message}: ${raw}` : message
}

function joinMessages(values: readonly unknown[], depth: number): string {
  const messages: string[] = []
  for (const value of values.slice(0, 10)) {
    const message = messageOf(value, depth + 1)
    if (message !== '') messages.push(message)
  }
  return messages.join('; ')
}

function typeOf(value: unknown, depth: number): string {
  if (depth > MAX_DEPTH) return ''
  if (Array.isArray(value)) return typeOf(value[0], depth + 1)
  const object = asObject(value)
  if (object === null) return ''
  const inner = typeOf(object['error'], depth + 1)
  if (inner !== '') return inner
  for (const name of ['type', 'code', 'status', '__type']) {
    const member = object[name]
    // `{"type":"error"}` is the envelope, not a type.
    if (typeof member === 'string' && member !== '' && member !== 'error') return member
    if (typeof member === 'number') return String(member)
  }
  return ''
}

function looksLikeMarkup(text: string): boolean {
  return /^<(?:!doctype|\?xml|!--|[a-z])/i.test(text)
}

/** The visible text of an HTML page, shortened. Takes time linear in the page's length. */
function textOfPage(page: string): string {
  const lower = page.toLowerCase()
  let text = ''
  let at = 0
  while (at < page.length) {
    const open = page.indexOf('<', at)
    if (open === -1) return shorten(text + page.slice(at))
    text += `${page.slice(at, open)} `
    const close = endOfTag(lower, open)
    if (close === -1) break
    at = close
  }
  return shorten(text)
}

/** Index after the tag, or after a whole comment or hidden element; -1 when it never ends. */
function endOfTag(lower: string, open: number): number {
  if (lower.startsWith('<!--', open)) return endOf(lower, '-->', open)
  for (const element of ['head', 'script', 'style']) {
    if (lower.startsWith(`<${element}>`, open) || lower.startsWith(`<${element} `, open)) {
      return endOf(lower, `</${element}>`, open)
    }
  }
  return endOf(lower, '>', open)
}

function endOf(text: string, mark: string, from: number): number {
  const at = text.indexOf(mark, from)
  return at === -1 ? -1 : at + mark.length
}

function shorten(text: string): string {
  const plain = text
    .replaceAll('&nbsp;', ' ')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')
  return cutAt(plain.replaceAll(/\s+/g, ' ').trim(), MAX_PAGE_LENGTH)
}

function cut(message: string): string {
  return cutAt(cleanUp(message), MAX_MESSAGE_LENGTH)
}

/** Removes control characters except tab and line feed: the text goes to logs, tables and clients. */
function cleanUp(text: string): string {
  // eslint-disable-next-line no-control-regex
  return text.replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f]/g, ' ').trim()
}

/** Cuts without splitting a surrogate pair. */
function cutAt(text: string, length: number): string {
  if (text.length <= length) return text
  const last = text.charCodeAt(length - 1)
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? length - 1 : length)
}
