import type { ToolResult } from '../shared/api/tool-endpoints.ts'
import type { Attempt } from './attempt.ts'
import { ByteStream } from './byte-stream.ts'
import { readJson } from './json.ts'
import type { CallArguments, ClientOperation, Management, ResultOf } from './operations.ts'
import type { CallOptions } from './options.ts'
import type { Repeats } from './retry.ts'
import { addressOf } from './route.ts'
import type { Route } from './route.ts'
import { ROUTES } from './routes.ts'
import type { Transport } from './transport.ts'

export interface AnswerWithHeaders<Data> {
  readonly data: Data
  /** Pass it as `ifMatch`; null when the answer has no ETag. */
  readonly etag: string | null
  /** The X-Request-Id header. */
  readonly requestId: string | null
  readonly headers: Headers
}

interface AnyRequest {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: object
  readonly body?: object
}

/** The reference in these payments makes them happen once, even without an Idempotency-Key. */
const ONCE_BY_REFERENCE: ReadonlySet<string> = new Set<ClientOperation>(['topUpWallet', 'adminAdjustWallet'])

/** A retry fails after a success: the old password is no longer valid. */
const NOT_AS_BEFORE: ReadonlySet<string> = new Set<ClientOperation>(['changePassword'])

/** Calls of the management plane. */
export class OperationCalls {
  token: string | null
  readonly #transport: Transport

  constructor(transport: Transport, token: string | null) {
    this.#transport = transport
    this.token = token
  }

  call<Name extends ClientOperation>(
    name: Name,
    ...args: CallArguments<Name>
  ): Promise<AnswerWithHeaders<ResultOf<Name>>> {
    const [request = {}, options = {}] = args as [AnyRequest?, CallOptions?]
    if (!Object.hasOwn(ROUTES, name)) throw new TypeError(`There is no operation ${name}.`)
    const route: Route = ROUTES[name]
    const { params = {}, query = {}, body } = request
    const outgoing = {
      method: route.method,
      path: addressOf(route.path, params, query),
      headers: this.token === null ? {} : { authorization: `Bearer ${this.token}` },
      body,
      repeats: repeatsOf(name, route, body, options),
    }
    const once = route.creates === true ? { idempotencyKey: options.idempotencyKey ?? crypto.randomUUID() } : {}
    return this.#transport.send(outgoing, { ...options, ...once }, async (response, attempt) => ({
      data: await read<ResultOf<Name>>(route, response, attempt),
      etag: response.headers.get('etag'),
      requestId: response.headers.get('x-request-id'),
      headers: response.headers,
    }))
  }

  /** Calls a tool. It is repeated only after an answer that proves that it was not called: it may change something. */
  callTool(name: string, input: object, options: CallOptions = {}): Promise<ToolResult> {
    const outgoing = {
      method: 'POST' as const,
      path: addressOf('/mcp/tools/{name}', { name }, {}),
      headers: this.token === null ? {} : { authorization: `Bearer ${this.token}` },
      body: input,
      repeats: 'refused' as const,
    }
    return this.#transport.send(outgoing, options, readJson<ToolResult>)
  }
}

async function read<Data>(route: Route, response: Response, attempt: Attempt): Promise<Data> {
  if (route.answer === 'bytes') return new ByteStream(response, attempt) as Data
  if (route.answer === 'json') return readJson<Data>(response, attempt)
  attempt.end()
  return null as Data
}

function repeatsOf(
  name: string,
  { method, path, creates }: Route,
  body: object | undefined,
  options: CallOptions,
): Repeats {
  if (creates === true || options.idempotencyKey !== undefined || ONCE_BY_REFERENCE.has(name)) return 'always'
  // After a success, a second attempt would find changed data (another ETag, another password) and fail.
  if (method === 'POST' || NOT_AS_BEFORE.has(name) || options.ifMatch !== undefined) return 'refused'
  // A toggle without `enabled` undoes itself when it is repeated.
  const isToggle = path.endsWith('/toggle') && (body as { enabled?: boolean } | undefined)?.enabled === undefined
  return isToggle ? 'refused' : 'always'
}

/** One method for each operation, grouped. */
export function management(calls: OperationCalls): Management {
  const names = Object.keys(ROUTES) as ClientOperation[]
  const groups = new Set(names.map((name) => ROUTES[name].group))
  const methodsOf = (group: string) =>
    names
      .filter((name) => ROUTES[name].group === group)
      .map((name) => [name, async (...args: CallArguments<typeof name>) => (await calls.call(name, ...args)).data])
  return Object.fromEntries(
    [...groups].map((group) => [group, Object.fromEntries(methodsOf(group)) as object]),
  ) as unknown as Management
}
