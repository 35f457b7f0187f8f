import type { TSchema } from 'typebox'
import { codeSamples, exampleBody } from './code-samples.ts'
import type { SampledCall } from './code-samples.ts'
import type { DescribedEndpoint } from './described-endpoint.ts'
import { ErrorBody, MessagesErrorBody } from './error.ts'
import { INTRODUCTION } from './introduction.ts'
import { answerHeadersOf, HEADER_COMPONENTS, headerParametersOf, headerResponsesOf } from './openapi-headers.ts'
import type { Access, OperationSpec } from './operation.ts'
import { NOUNS } from './nouns.ts'
import { OPERATIONS } from './operations/index.ts'

/** Names of the branches of a discriminator, by its field. "UserRole" would be the name of a field of a noun in generated clients. */
const BRANCHES: Readonly<Record<string, string>> = { role: 'Message', type: 'Event' }

type Json = Readonly<Record<string, unknown>>

const TAGS: Readonly<Record<string, string>> = {
  Models: 'Calls of models, authenticated by an entry key.',
  Tools:
    'Tools for assistants, for users and for entry keys with mcp_tools. The protocol (MCP) is at /mcp and /mcp/sse.',
  Health: 'For load balancers and people. Open to everyone.',
  Session: 'Logging in and out.',
  Keys: 'Entry keys of a user.',
  'Request log': 'Requests and their outcome.',
  Statistics: 'Sums of the request log.',
  Enterprises: 'Customers with members, budgets and a wallet.',
  Members: 'Users of an enterprise, with their roles.',
  Departments: 'A tree with budgets.',
  Wallet: 'Money of an enterprise.',
  'Enterprise keys': 'Entry keys of an enterprise, with budgets.',
  Platform: 'For admins of the platform.',
  Upstreams: 'Hosts that serve models, and their keys.',
  Catalogue: 'Prices, upstreams and names of models.',
  Alerts: 'Messages by webhook and e-mail when something crosses a threshold, and summaries.',
  Operation: 'For operators of the gateway.',
}

const API_KEY: readonly Json[] = [{ apiKey: [] }, { apiKeyHeader: [] }]
const SESSION: readonly Json[] = [{ session: [] }]

/** The OpenAPI 3.1 document of everything that the gateway serves, made from the same tables as the routes. */
export function openApiDocument(version: string, endpoints: readonly DescribedEndpoint[]): Json {
  const paths: Record<string, Record<string, Json>> = {}
  const add = (path: string, method: string, described: Json): void => {
    paths[path] = { ...paths[path], [method]: described }
  }
  for (const endpoint of endpoints) add(endpoint.path, endpoint.method.toLowerCase(), describeEndpoint(endpoint))
  for (const [name, spec] of Object.entries(OPERATIONS)) {
    add(spec.path, spec.method.toLowerCase(), describeOperation(name, spec))
  }
  const named: Record<string, unknown> = { Error: ErrorBody, MessagesError: MessagesErrorBody }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Sluice',
      version,
      description: INTRODUCTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths: withNames(paths, named),
    components: {
      securitySchemes: {
        apiKey: { type: 'http', scheme: 'bearer', description: 'An entry key.' },
        apiKeyHeader: { type: 'apiKey', in: 'header', name: 'X-API-Key', description: 'An entry key.' },
        session: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'The token of a session.' },
      },
      ...HEADER_COMPONENTS,
      schemas: named,
    },
  }
}

function describeEndpoint(endpoint: DescribedEndpoint): Json {
  const { operation, method, path, tag, summary, query, body, example, answer, event, media, isOpen } = endpoint
  const credential = isOpen === true ? null : endpoint.takesSession === true ? 'session' : 'key'
  const call = { method, path, credential } as const
  const sent = exampleBody(body, example)
  const success = answer ?? { type: 'object', description: "The answer of the protocol's own service." }
  const content = {
    'application/json': { schema: success },
    ...(event === undefined ? {} : { 'text/event-stream': { schema: event } }),
  }
  const error = path.includes('/v1/messages') ? 'MessagesError' : 'Error'
  return {
    operationId: operation,
    tags: [tag],
    summary,
    security: isOpen === true ? [] : endpoint.takesSession === true ? [...SESSION, ...API_KEY] : API_KEY,
    ...parametersOf(path, query),
    ...requestBody(body, sent),
    responses: {
      200: { description: 'Done.', ...(media === undefined ? { content } : contentOf(media)) },
      ...errors(error),
    },
    ...samplesOf({ ...call, body: sent }),
  }
}

function describeOperation(name: string, spec: OperationSpec): Json {
  const { method, path, tag, summary, access, query, body } = spec
  const call = { method, path, credential: access === 'everyone' ? null : 'session' } as const
  const sent = exampleBody(body)
  // Management refuses fields that it does not know. A noun says so itself.
  const closed = body === undefined || NOUNS.has(body) ? body : { ...body, additionalProperties: false }
  const { status, schema, media } = spec.answer
  const content = schema === null ? contentOf(media) : { content: { 'application/json': { schema } } }
  return {
    operationId: name,
    tags: [tag],
    summary,
    security: securityOf(access),
    ...parametersOf(path, query, headerParametersOf(spec)),
    ...requestBody(closed, sent),
    responses: {
      [status]: { description: 'Done.', ...answerHeadersOf(spec), ...content },
      ...headerResponsesOf(spec),
      ...errors('Error'),
    },
    ...samplesOf({ ...call, body: sent }),
  }
}

/** API pages read `x-codeSamples`. */
function samplesOf(call: SampledCall): Json {
  return { 'x-codeSamples': codeSamples(call) }
}

function securityOf(access: Access): readonly Json[] {
  return access === 'everyone' ? [] : SESSION
}

function contentOf(media: string | readonly string[] = []): Json {
  const types = typeof media === 'string' ? [media] : media
  if (types.length === 0) return {}
  const schemaOf = (type: string): Json => ({ type: type === 'application/json' ? 'object' : 'string' })
  return { content: Object.fromEntries(types.map((type) => [type, { schema: schemaOf(type) }])) }
}

function requestBody(schema: TSchema | undefined, example: unknown): Json {
  if (schema === undefined) return {}
  const { required = [] }: { readonly required?: readonly string[] } = schema
  return { requestBody: { required: required.length > 0, content: { 'application/json': { schema, example } } } }
}

function parametersOf(path: string, query?: OperationSpec['query'], inHeader: readonly Json[] = []): Json {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))
  const required = new Set<string>(query?.required ?? [])
  const inQuery = Object.entries(query?.properties ?? {}).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.has(name),
    schema,
  }))
  const parameters = [...inPath, ...inQuery, ...inHeader]
  return parameters.length === 0 ? {} : { parameters }
}

function errors(schema: 'Error' | 'MessagesError'): Json {
  const content = { 'application/json': { schema: { $ref: `#/components/schemas/${schema}` } } }
  return {
    '4XX': { description: 'The request cannot be served; the error says why.', content },
    '5XX': { description: 'The gateway or a service behind it failed.', content },
  }
}

/** A copy in which nouns are references to named schemas, and so are the branches of a discriminator, which chooses only among these. */
function withNames(value: unknown, named: Record<string, unknown>): unknown {
  if (Array.isArray(value)) return value.map((item) => withNames(item, named))
  if (!isRecord(value)) return value
  const noun = NOUNS.get(value)
  if (noun === undefined) return membersWithNames(value, named)
  named[noun] ??= membersWithNames(value, named)
  return { $ref: `#/components/schemas/${noun}` }
}

function membersWithNames(value: Record<string, unknown>, named: Record<string, unknown>): unknown {
  const copy = Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withNames(member, named)]))
  const { discriminator, oneOf } = copy
  if (!isRecord(discriminator) || !Array.isArray(oneOf)) return copy
  const tag = String(discriminator['propertyName'])
  const branches = oneOf.map((branch: unknown) => {
    const tagValue = tagValueOf(branch, tag)
    return {
      tagValue,
      $ref: `#/components/schemas/${nameOf(`${pascal(tagValue)}${BRANCHES[tag] ?? pascal(tag)}`, branch, named)}`,
    }
  })
  const mapping = Object.fromEntries(branches.map(({ tagValue, $ref }) => [tagValue, $ref]))
  return { ...copy, discriminator: { propertyName: tag, mapping }, oneOf: branches.map(({ $ref }) => ({ $ref })) }
}

/** Adds a schema to `named`. @returns its name: `wanted`, with a number when another schema has that name */
function nameOf(wanted: string, schema: unknown, named: Record<string, unknown>): string {
  const text = JSON.stringify(schema)
  for (let number = 1; ; number++) {
    const name = number === 1 ? wanted : `${wanted}${number}`
    if (named[name] === undefined) named[name] = schema
    if (JSON.stringify(named[name]) === text) return name
  }
}

function tagValueOf(branch: unknown, tag: string): string {
  const properties = isRecord(branch) ? branch['properties'] : undefined
  const property = isRecord(properties) ? properties[tag] : undefined
  return String(isRecord(property) ? property['const'] : '')
}

function pascal(text: string): string {
  return text.replace(/(?:^|[^A-Za-z0-9]+)([A-Za-z0-9])/g, (_, letter: string) => letter.toUpperCase())
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
