import type { LeftOutOperation } from '../../../shared/core/tool-server.ts'
import type { Json, ObjectSchema, Tool } from '../tool-source.ts'
import { isJson, localTarget } from '../../../shared/config/openapi-document.ts'
import { PlainSchemas } from './plain-schema.ts'

const METHODS = ['get', 'put', 'post', 'delete', 'patch'] as const
const MAX_NAME = 64
const MAX_DESCRIPTION = 4_096
/** Operations of one document. */
const MAX_OPERATIONS = 1_000
/** Headers that the gateway sets, or that belong to the connection. */
const OWN_HEADERS =
  /^(?:accept|authorization|connection|content-.*|cookie|host|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade)$/i

export type ParameterPlace = 'path' | 'query' | 'header'

/** A parameter, and the way in which its value is written. */
export interface OperationParameter {
  readonly name: string
  /** Its name among the arguments of the tool. */
  readonly argument: string
  readonly place: ParameterPlace
  readonly style: 'simple' | 'form' | 'spaceDelimited' | 'pipeDelimited' | 'deepObject' | 'json'
  readonly explode: boolean
  readonly required: boolean
}

export interface OperationBody {
  /** Its name among the arguments of the tool. */
  readonly argument: string
  readonly mediaType: string
  readonly form: 'json' | 'urlencoded' | 'text'
  readonly required: boolean
}

/** An operation of an HTTP API, with what a request for it needs. */
export interface ApiOperation {
  readonly tool: Tool
  /** Upper case. */
  readonly method: string
  /** With its `{parameters}`. */
  readonly path: string
  readonly parameters: readonly OperationParameter[]
  readonly body: OperationBody | null
}

export interface ApiOperations {
  readonly operations: readonly ApiOperation[]
  readonly leftOut: readonly LeftOutOperation[]
}

/** The reason why an operation is left out. */
class LeftOut extends Error {}

/** The operations of a document as tools, in its order. */
export function operationsOf(document: Json): ApiOperations {
  const operations: ApiOperation[] = []
  const leftOut: LeftOutOperation[] = []
  const names = new Set<string>()
  for (const [path, item] of Object.entries(document['paths'] as Json)) {
    const found = resolved(document, item)
    if (!isJson(found)) continue
    for (const method of METHODS) {
      const operation = found[method]
      if (!isJson(operation)) continue
      const label = `${method.toUpperCase()} ${path}`
      if (operations.length >= MAX_OPERATIONS) {
        leftOut.push({ operation: label, reason: `there are more than ${MAX_OPERATIONS} operations` })
        return { operations, leftOut }
      }
      try {
        operations.push(readOperation(document, { path, method, item: found, operation, names }))
      } catch (cause) {
        if (!(cause instanceof LeftOut)) throw cause
        leftOut.push({ operation: label, reason: cause.message })
      }
    }
  }
  return { operations, leftOut }
}

interface Found {
  readonly path: string
  readonly method: (typeof METHODS)[number]
  readonly item: Json
  readonly operation: Json
  readonly names: Set<string>
}

function readOperation(document: Json, { path, method, item, operation, names }: Found): ApiOperation {
  if (!path.startsWith('/')) throw new LeftOut('its path does not begin with /')
  const schemas = new PlainSchemas(document)
  const taken = new Set<string>()
  const properties: Record<string, Json> = {}
  const required: string[] = []
  const parameters: OperationParameter[] = []
  for (const sent of parametersOf(document, item, operation)) {
    const read = readParameter(sent, taken)
    if (read === null) continue
    parameters.push(read)
    const { content, schema, description } = sent
    const [of] = isJson(content) ? Object.values(content) : []
    const plain = schemas.plain(isJson(of) ? of['schema'] : schema)
    properties[read.argument] = typeof description === 'string' ? { description, ...plain } : plain
    if (read.required) required.push(read.argument)
  }
  for (const [, name] of path.matchAll(/\{([^{}]*)\}/g)) {
    if (!parameters.some((one) => one.place === 'path' && one.name === name)) {
      throw new LeftOut(`its path has {${String(name)}}, which is no parameter`)
    }
  }
  const sentBody = resolved(document, operation['requestBody'])
  const body = isJson(sentBody) && method !== 'get' ? readBody(sentBody, taken) : null
  if (body !== null) {
    properties[body.argument] = schemas.plain(body.schema)
    if (body.required) required.push(body.argument)
  }
  if (schemas.isFull) throw new LeftOut('its schemas are too large')
  const inputSchema: ObjectSchema = { type: 'object', properties, required, additionalProperties: false }
  const { summary, description, operationId } = operation
  const title = textOr(summary, `${method.toUpperCase()} ${path}`).slice(0, 256)
  const said = [textOr(summary, ''), textOr(description, '')].filter((text) => text !== '')
  const isRead = method === 'get'
  return {
    tool: {
      name: uniqueName(textOr(operationId, `${method}_${path}`), names),
      title,
      description: (said.length === 0 ? title : said.join('\n\n')).slice(0, MAX_DESCRIPTION),
      inputSchema,
      annotations: {
        title,
        readOnlyHint: isRead,
        destructiveHint: !isRead && method !== 'post',
        idempotentHint: method !== 'post' && method !== 'patch',
        openWorldHint: true,
      },
    },
    method: method.toUpperCase(),
    path,
    parameters,
    body: body === null ? null : { ...body.of, required: body.required },
  }
}

/** Those of the path, and those of the operation, which replace them. */
function parametersOf(document: Json, item: Json, operation: Json): Json[] {
  const all = new Map<string, Json>()
  for (const list of [item['parameters'], operation['parameters']]) {
    for (const sent of Array.isArray(list) ? (list as unknown[]) : []) {
      const parameter = resolved(document, sent)
      if (!isJson(parameter)) throw new LeftOut('a parameter is not in the document')
      all.set(`${textOr(parameter['in'], '')} ${textOr(parameter['name'], '')}`, parameter)
    }
  }
  return [...all.values()]
}

/** Null: the parameter is not sent. */
function readParameter(sent: Json, taken: Set<string>): OperationParameter | null {
  const { name, in: place, required: isRequired, content, explode } = sent
  if (typeof name !== 'string' || name === '') throw new LeftOut('a parameter has no name')
  const required = isRequired === true || place === 'path'
  const isSendable = place === 'path' || place === 'query' || (place === 'header' && !OWN_HEADERS.test(name))
  if (!isSendable) {
    // The gateway sends its own; a cookie is a credential, or no business of a model.
    if (!required || place === 'header') return null
    throw new LeftOut(`its parameter ${JSON.stringify(name)} is required in ${textOr(place, 'no place')}`)
  }
  if (place === 'header' && !/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) throw new LeftOut('a header has no valid name')
  const style = isJson(content) ? 'json' : textOr(sent['style'], place === 'query' ? 'form' : 'simple')
  const known =
    place === 'query' ? ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject', 'json'] : ['simple', 'json']
  if (!known.includes(style)) throw new LeftOut(`its parameter ${JSON.stringify(name)} has the style ${style}`)
  return {
    name,
    argument: argumentName(name, taken),
    place,
    style: style as OperationParameter['style'],
    explode: typeof explode === 'boolean' ? explode : style === 'form',
    required,
  }
}

interface ReadBody {
  readonly of: Pick<OperationBody, 'argument' | 'mediaType' | 'form'>
  readonly argument: string
  readonly schema: unknown
  readonly required: boolean
}

function readBody({ content, required }: Json, taken: Set<string>): ReadBody {
  const media = Object.entries(isJson(content) ? content : {})
  const found =
    pick(media, 'json', /^application\/(?:[a-z0-9.+-]+\+)?json\b/i) ??
    pick(media, 'urlencoded', /^application\/x-www-form-urlencoded\b/i) ??
    pick(media, 'text', /^text\/plain\b/i)
  if (found === null) {
    throw new LeftOut(`its body is ${media.map(([type]) => type).join(', ') || 'of no type'}`)
  }
  const argument = argumentName('body', taken)
  return {
    of: { argument, mediaType: found.mediaType, form: found.form },
    argument,
    schema: found.schema,
    required: required === true,
  }
}

function pick(media: ReadonlyArray<readonly [string, unknown]>, form: OperationBody['form'], pattern: RegExp) {
  const [mediaType, of] = media.find(([type]) => pattern.test(type)) ?? []
  return mediaType === undefined ? null : { mediaType, form, schema: isJson(of) ? of['schema'] : undefined }
}

/** The target of a reference, if it is one. A chain of references has an end. */
function resolved(document: Json, value: unknown): unknown {
  let found = value
  for (let step = 0; isJson(found) && typeof found['$ref'] === 'string'; step++) {
    if (step === 32) return undefined
    found = localTarget(document, found['$ref'])
  }
  return found
}

function argumentName(name: string, taken: Set<string>): string {
  return unique(name.replace(/[^A-Za-z0-9_.-]/g, '_').slice(0, MAX_NAME), taken)
}

function uniqueName(name: string, names: Set<string>): string {
  const plain = name.replace(/[^A-Za-z0-9-]+/g, '_').replace(/^_+|_+$/g, '')
  return unique((plain === '' ? 'operation' : plain).slice(0, MAX_NAME), names)
}

function unique(name: string, taken: Set<string>): string {
  let chosen = name === '__proto__' ? '_proto_' : name
  for (let number = 2; taken.has(chosen); number++) chosen = `${name.slice(0, MAX_NAME - 4)}_${number}`
  taken.add(chosen)
  return chosen
}

function textOr(value: unknown, otherwise: string): string {
  return typeof value === 'string' && value !== '' ? value : otherwise
}
