import type { OperationSpec } from '../../shared/api/operation.ts'
import { OPERATIONS } from '../../shared/api/operations/index.ts'
import { ENTERPRISE_ACTIONS, mayDo } from '../../shared/api/roles.ts'
import type { EnterpriseAction } from '../../shared/api/roles.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import { newRequestId } from '../../shared/core/request-id.ts'
import type { ManagementRequest, ManagementResponse } from '../management/web.ts'
import type { Membership } from '../store/enterprises.ts'
import type { McpCaller, McpCallers, UserCaller } from './callers.ts'
import { OPERATION_TOOLS } from './operation-table.ts'
import type { OperationTool } from './operation-table.ts'
import { failedOutcome, structuredOutcome } from './tool-source.ts'
import type { ApiError, Json, ObjectSchema, Tool, ToolCall, ToolOutcome, ToolSource } from './tool-source.ts'

interface Prepared {
  readonly tool: Tool
  readonly spec: OperationSpec
  /** The arguments that belong into the path, and its parameter. */
  readonly params: ReadonlyMap<string, string>
  readonly query: ReadonlySet<string>
}

export interface OperationToolsOptions {
  readonly callers: McpCallers
  /** The router of the management API: it checks rights and input, and writes the audit log. */
  readonly serve: (request: ManagementRequest) => Promise<ManagementResponse>
  readonly now: () => number
}

type SchemaObject = { readonly properties: Json; readonly required?: readonly string[] }

const ENTERPRISE_ID = 'enterprise_id'

/** The tools of `OPERATION_TOOLS`: each call is a request to the management API, with the token of the caller. */
export class OperationTools implements ToolSource {
  readonly #options: OperationToolsOptions
  readonly #tools: ReadonlyMap<string, Prepared>

  constructor(options: OperationToolsOptions) {
    this.#options = options
    this.#tools = new Map(Object.entries(OPERATION_TOOLS).map(([name, entry]) => [name, prepare(name, entry)]))
  }

  async list(caller: McpCaller): Promise<readonly Tool[]> {
    // A key is for models: it has no rights in the management API.
    if (caller.kind === 'key') return []
    const memberships = await this.#options.callers.memberships(caller)
    const visible = [...this.#tools.values()].filter(({ spec }) => isFor(spec, caller, memberships))
    return visible.map(({ tool }) => tool)
  }

  async call(call: ToolCall): Promise<ToolOutcome> {
    const { caller, name } = call
    const prepared = this.#tools.get(name)
    if (prepared === undefined || caller.kind === 'key') throw new GatewayError('NOT_FOUND')
    const input = await this.#withEnterprise(prepared, caller, call.input)
    const request = this.#requestOf(prepared, caller, input)
    if ('error' in request) return failedOutcome(400, request.error)
    const { status, body } = await this.#options.serve({ ...request, signal: call.signal })
    const text = (await collect(body)).toString('utf8')
    const value = (text === '' ? {} : JSON.parse(text)) as Json
    if (status < 400) return structuredOutcome(value)
    return failedOutcome(status, renamed(value['error'] as ApiError, prepared))
  }

  /** The arguments with the only enterprise of the caller, where none is named. */
  async #withEnterprise({ spec, params }: Prepared, caller: UserCaller, input: Json): Promise<Json> {
    if (!params.has(ENTERPRISE_ID) || input[ENTERPRISE_ID] !== undefined) return input
    const memberships = await this.#options.callers.memberships(caller)
    const possible = memberships.filter(({ role }) => mayDo(role, spec.access as EnterpriseAction))
    return possible.length === 1 ? { ...input, [ENTERPRISE_ID]: possible[0]?.id } : input
  }

  #requestOf(
    { spec, params, query }: Prepared,
    { authorization, origin }: UserCaller,
    input: Json,
  ): Omit<ManagementRequest, 'signal'> | { readonly error: ApiError } {
    const requestId = newRequestId(this.#options.now())
    const search = new URLSearchParams()
    const body: Record<string, unknown> = {}
    let { path } = spec
    for (const [name, param] of params) {
      const value = input[name]
      if (typeof value !== 'string' || value === '') return invalid(requestId, name, `${name} is missing.`)
      path = path.replace(`{${param}}`, encodeURIComponent(value))
    }
    for (const [name, value] of Object.entries(input)) {
      if (params.has(name) || value === undefined) continue
      if (!query.has(name) && spec.body !== undefined) body[name] = value
      else if (value !== null) {
        for (const one of Array.isArray(value) ? (value as unknown[]) : [value]) {
          if (!isScalar(one)) return invalid(requestId, name, `${name} must not be an object.`)
          search.append(name, String(one))
        }
      }
    }
    return {
      requestId,
      method: spec.method,
      path,
      query: search.toString(),
      headers: { authorization, 'user-agent': origin.userAgent, 'content-type': 'application/json' },
      address: origin.address,
      body: spec.body === undefined ? Buffer.alloc(0) : Buffer.from(JSON.stringify(body)),
    }
  }
}

function isScalar(value: unknown): value is string | number | boolean {
  return ['string', 'number', 'boolean'].includes(typeof value)
}

function isFor({ access }: OperationSpec, { user }: UserCaller, memberships: readonly Membership[]): boolean {
  if (access === 'user') return true
  if (access === 'platform-admin') return user.role === 'admin'
  if (!Object.hasOwn(ENTERPRISE_ACTIONS, access)) return false
  return user.role === 'admin' || memberships.some(({ role }) => mayDo(role, access as EnterpriseAction))
}

function prepare(name: string, entry: OperationTool): Prepared {
  const spec: OperationSpec = OPERATIONS[entry.operation]
  const isOfEnterprise = Object.hasOwn(ENTERPRISE_ACTIONS, spec.access)
  const params = new Map(
    [...spec.path.matchAll(/\{(\w+)\}/g)].map(([, param = '']) => {
      const own = entry.params?.[param]
      return [own ?? (param === 'id' && isOfEnterprise ? ENTERPRISE_ID : param), param]
    }),
  )
  const query = plain(spec.query)
  const body = plain(spec.body)
  const inPath: Json = Object.fromEntries(
    [...params.keys()].map((param) => [param, { type: 'string', description: aboutParam(param) }] as const),
  )
  const required = [...params.keys()].filter((param) => param !== ENTERPRISE_ID)
  const inputSchema = {
    type: 'object' as const,
    properties: { ...inPath, ...query.properties, ...body.properties },
    required: [...required, ...(query.required ?? []), ...(body.required ?? [])],
    additionalProperties: false,
  }
  const outputSchema = spec.answer.schema === null ? undefined : plainSchema(spec.answer.schema)
  const isReading = spec.method === 'GET'
  const tool: Tool = {
    name,
    title: entry.title,
    description: `${spec.summary}.`,
    inputSchema,
    ...(outputSchema === undefined ? {} : { outputSchema: outputSchema as unknown as ObjectSchema }),
    annotations: {
      title: entry.title,
      readOnlyHint: isReading,
      destructiveHint: entry.isDestructive === true,
      idempotentHint: isReading,
      openWorldHint: false,
    },
  }
  return { tool, spec, params, query: new Set(Object.keys(query.properties)) }
}

function aboutParam(param: string): string {
  if (param === ENTERPRISE_ID) return 'The enterprise. Default: the only one in which you may do this.'
  return `The id of the ${param.replace(/_id$/, '')}.`
}

function plain(schema: object | undefined): SchemaObject {
  return schema === undefined ? { properties: {} } : (plainSchema(schema) as unknown as SchemaObject)
}

/** A copy as it goes over the wire: without the symbols of the schema library. */
function plainSchema(schema: object): Json {
  return JSON.parse(JSON.stringify(schema)) as Json
}

/** Arguments have other names than the parameters of the path. */
function renamed(error: ApiError, { params }: Prepared): ApiError {
  for (const [name, param] of params) if (error.param === `/${param}`) return { ...error, param: `/${name}` }
  return error
}

function invalid(requestId: string, name: string, message: string): { readonly error: ApiError } {
  return {
    error: { type: 'invalid_request', code: 'INVALID_FIELD', message, param: `/${name}`, request_id: requestId },
  }
}

async function collect(body: Buffer | AsyncIterable<Buffer>): Promise<Buffer> {
  if (Buffer.isBuffer(body)) return body
  const chunks: Buffer[] = []
  for await (const chunk of body) chunks.push(chunk)
  return Buffer.concat(chunks)
}
