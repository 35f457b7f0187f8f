import { GatewayError } from '../../../shared/core/errors.ts'
import type { Json } from '../tool-source.ts'
import { isJson } from '../../../shared/config/openapi-document.ts'
import type { ApiOperation, OperationBody, OperationParameter } from './operations.ts'

/** A request for an operation, without a credential. */
export interface OperationRequest {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
}

type Pair = readonly [name: string, value: string]

/**
 * The request for a call of an operation. Its address is always below `baseUrl`, whatever the arguments are. Throws INVALID_FIELD for an
 * argument that is missing or cannot be written where it belongs.
 */
export function requestOf(
  { method, path, parameters, body }: ApiOperation,
  baseUrl: string,
  input: Json,
): OperationRequest {
  const base = new URL(baseUrl)
  const basePath = base.pathname.replace(/\/+$/, '')
  let filled = path
  const query: Pair[] = [...base.searchParams]
  const headers: Record<string, string> = { accept: 'application/json, text/plain;q=0.9, */*;q=0.1' }
  for (const parameter of parameters) {
    const value = input[parameter.argument]
    if (value === undefined || value === null) {
      if (parameter.required) throw wrong(parameter.argument, 'is required')
    } else if (parameter.place === 'path') {
      filled = filled.replaceAll(`{${parameter.name}}`, () => pathText(parameter, value))
    } else if (parameter.place === 'query') query.push(...queryPairs(parameter, value))
    else headers[parameter.name.toLowerCase()] = headerText(parameter, value)
  }
  const url = new URL(base.origin)
  url.pathname = `${basePath}${filled.split('#', 1)[0] ?? ''}`.replaceAll('?', '%3F')
  for (const [name, value] of query) url.searchParams.append(name, value)
  if (url.origin !== base.origin || !url.pathname.startsWith(`${basePath}/`)) {
    throw new GatewayError('INVALID_FIELD', { message: 'The path of the operation leaves the address of the server.' })
  }
  const text = body === null ? null : bodyText(body, input[body.argument])
  if (body !== null && text !== null) headers['content-type'] = body.mediaType
  return { method, url: url.href, headers, body: text }
}

/** Dots would lead out of the path that the operation has, encoded or not. */
function pathText(parameter: OperationParameter, value: unknown): string {
  const text = joined(parameter, value, ',')
  if (text === '' || text === '.' || text === '..') throw wrong(parameter.argument, 'must not be empty, . or ..')
  return encodeURIComponent(text)
}

function headerText(parameter: OperationParameter, value: unknown): string {
  const text = joined(parameter, value, ',')
  if (/[^\t\x20-\x7e]/.test(text)) throw wrong(parameter.argument, 'must be printable ASCII')
  return text
}

function queryPairs(parameter: OperationParameter, value: unknown): Pair[] {
  const { name, style, explode } = parameter
  if (style === 'json') return [[name, JSON.stringify(value)]]
  if (Array.isArray(value)) {
    const texts = (value as unknown[]).map(scalar)
    if (explode && style === 'form') return texts.map((text) => [name, text])
    const separator = { spaceDelimited: ' ', pipeDelimited: '|' }[style as string] ?? ','
    return [[name, texts.join(separator)]]
  }
  if (!isJson(value)) return [[name, scalar(value)]]
  const members = Object.entries(value).map(([key, one]): Pair => [key, scalar(one)])
  if (style === 'deepObject') return members.map(([key, text]) => [`${name}[${key}]`, text])
  return explode ? members : [[name, members.flat().join(',')]]
}

/** The style `simple`. */
function joined({ style, explode }: OperationParameter, value: unknown, separator: string): string {
  if (style === 'json') return JSON.stringify(value)
  if (Array.isArray(value)) return value.map(scalar).join(separator)
  if (!isJson(value)) return scalar(value)
  const members = Object.entries(value)
  return members.map(([key, one]) => `${key}${explode ? '=' : separator}${scalar(one)}`).join(separator)
}

function bodyText({ argument, form, required }: OperationBody, value: unknown): string | null {
  if (value === undefined) {
    if (required) throw wrong(argument, 'is required')
    return null
  }
  if (form === 'json') return JSON.stringify(value)
  if (form === 'text') return scalar(value)
  if (!isJson(value)) throw wrong(argument, 'must be an object')
  const fields = new URLSearchParams()
  for (const [name, one] of Object.entries(value)) {
    for (const text of Array.isArray(one) ? one.map(scalar) : [scalar(one)]) fields.append(name, text)
  }
  return fields.toString()
}

function scalar(value: unknown): string {
  if (typeof value === 'string') return value
  return value === undefined ? '' : JSON.stringify(value)
}

function wrong(argument: string, why: string): GatewayError {
  const param = `/${argument.replaceAll('~', '~0').replaceAll('/', '~1')}`
  return new GatewayError('INVALID_FIELD', { param, message: `${argument} ${why}.` })
}
