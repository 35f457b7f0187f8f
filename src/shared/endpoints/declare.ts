import type { Static, TObject, TSchema } from 'typebox'
import type { DescribedEndpoint } from '../api/described-endpoint.ts'
import type { Endpoint } from '../core/endpoint.ts'
import type { RequestFields } from '../core/request-body.ts'
import { SERVICES } from '../core/service.ts'
import type { ServiceName } from '../core/service.ts'

/** Fields of requests whose answers come whole and hold no generated text. */
export const PLAIN_FIELDS = {
  stream: false,
  wantsUsage: false,
  maxOutputTokens: 0,
  choices: 1,
  namesServers: false,
  hasTools: false,
  tags: null,
} as const

/** POST with a JSON body: an upstream serves it. */
export interface ServedEndpoint extends Endpoint, DescribedEndpoint {
  readonly kind: 'served'
  readonly method: 'POST'
  readonly body: TObject
  readonly example: object
  /** The fields that routing and limits need, of a body that fits the schema. Throws INVALID_FIELD or UNSUPPORTED_FIELD. */
  readonly fields: (request: unknown) => RequestFields
  /** It is also served under `/<vendor>`, for clients of the vendor. */
  readonly isAliased: boolean
}

/** GET with a key: a front answers it by itself. */
export interface LocalEndpoint extends Endpoint, DescribedEndpoint {
  readonly kind: 'local'
  readonly method: 'GET'
  readonly isAliased: boolean
  /** The last parameter may hold slashes, which not every client encodes. */
  readonly takesSlashes: boolean
}

/** GET without a key; not in the request log. */
export interface OpenEndpoint extends DescribedEndpoint {
  readonly kind: 'open'
  readonly method: 'GET'
  readonly isOpen: true
}

type Documented = Pick<DescribedEndpoint, 'summary' | 'answer' | 'event'> & { readonly isAliased?: true }

interface Served<Body extends TObject> extends Documented {
  readonly operation: string
  readonly name: string
  readonly body: Body
  readonly example: object
  readonly fields: (request: Static<Body>) => RequestFields
  readonly countsTokens?: true
  readonly beginsJob?: true
}

/** An endpoint of conversations; its bodies are in the dialect of its clients. */
export function conversationEndpoint<const Path extends string, Body extends TObject>(
  path: Path,
  declared: Served<Body> & Pick<Endpoint, 'dialect' | 'servedBy'>,
): ServedEndpoint & { readonly path: Path } {
  return served(path, declared, declared.dialect)
}

/** The endpoint of a service; its errors are those of chat. */
export function serviceEndpoint<Name extends ServiceName, Body extends TObject>(
  service: Name,
  declared: Served<Body>,
): ServedEndpoint & { readonly path: (typeof SERVICES)[Name]['path'] } {
  const { path, protocols } = SERVICES[service]
  return served(path, { ...declared, dialect: 'openai-chat', servedBy: service }, protocols[0])
}

/** Sets every member in one order, so that all endpoints have one shape. */
function served<Path extends string, Body extends TObject>(
  path: Path,
  declared: Served<Body> & Pick<Endpoint, 'dialect' | 'servedBy'>,
  bodies: Endpoint['bodies'],
): ServedEndpoint & { readonly path: Path } {
  return {
    name: declared.name,
    dialect: declared.dialect,
    servedBy: declared.servedBy,
    bodies,
    countsTokens: declared.countsTokens ?? false,
    beginsJob: declared.beginsJob ?? false,
    kind: 'served',
    operation: declared.operation,
    method: 'POST',
    path,
    tag: 'Models',
    summary: declared.summary,
    body: declared.body,
    example: declared.example,
    // Only bodies that passed the schema reach it.
    fields: declared.fields as ServedEndpoint['fields'],
    answer: declared.answer,
    event: declared.event,
    isAliased: declared.isAliased ?? false,
  }
}

export function localEndpoint<const Path extends string, const Operation extends string>(
  path: Path,
  declared: Documented & {
    readonly operation: Operation
    readonly name: string
    readonly query?: TObject
    readonly takesSlashes?: true
  },
): LocalEndpoint & { readonly path: Path; readonly operation: Operation } {
  return {
    name: declared.name,
    dialect: 'openai-chat',
    servedBy: 'openai-chat',
    bodies: 'openai-chat',
    countsTokens: false,
    beginsJob: false,
    kind: 'local',
    operation: declared.operation,
    method: 'GET',
    path,
    tag: 'Models',
    summary: declared.summary,
    query: declared.query,
    answer: declared.answer,
    isAliased: declared.isAliased ?? false,
    takesSlashes: declared.takesSlashes ?? false,
  }
}

export function openEndpoint<const Path extends string, const Operation extends string>(
  path: Path,
  declared: {
    readonly operation: Operation
    readonly tag: DescribedEndpoint['tag']
    readonly summary: string
    readonly answer: TSchema | null
    readonly query?: TObject
    readonly media?: string
  },
): OpenEndpoint & { readonly path: Path; readonly operation: Operation } {
  return { ...declared, kind: 'open', method: 'GET', path, isOpen: true }
}
