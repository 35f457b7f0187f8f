import { Hono } from 'hono'
import type { Context } from 'hono'
import { ALL_ENDPOINTS } from '../../shared/endpoints/index.ts'
import { EVENT_STREAM, isChange, showsBodies } from '../../shared/api/operation.ts'
import type { OperationSpec } from '../../shared/api/operation.ts'
import { OPERATIONS } from '../../shared/api/operations/index.ts'
import type { OperationName } from '../../shared/api/operations/index.ts'
import { changedResourceOf, resourceOf } from '../../shared/api/operations/resource.ts'
import { errorFields, GatewayError } from '../../shared/core/errors.ts'
import { createUnknownPath } from '../../shared/core/unknown-path.ts'
import { OperationValidator } from './operation-validator.ts'
import { storableText } from '../store/text.ts'
import type { Audited } from './audit-changes.ts'
import type { Attempt, LookLog, RefusalLog } from './audit.ts'
import { Download, Redirect } from './call.ts'
import type { Call, Caller, Handler, Handlers } from './call.ts'
import type { Changes } from './changes.ts'
import { ConsolePages } from './console-pages.ts'
import { entityTagOf, namesTagWeakly } from './entity-tags.ts'
import type { Guard } from './guard.ts'
import { respond, toWebRequest } from './web.ts'
import type { ManagementRequest, ManagementResponse } from './web.ts'

export interface RouterOptions {
  readonly handlers: Handlers
  readonly guard: Guard
  readonly changes: Changes
  readonly refusals: RefusalLog
  readonly looks: LookLog
  readonly onFault: (cause: unknown) => void
}

interface Env {
  readonly Bindings: { readonly request: ManagementRequest }
}

interface Route {
  readonly name: OperationName
  readonly spec: OperationSpec
  readonly handle: AnyHandler
  /** Shows the resource of the operation; null when it has no GET. */
  readonly show: AnyHandler | null
  /** Shows what the operation changes; null when it has no GET. */
  readonly current: AnyHandler | null
}

type AnyHandler = Handler<OperationSpec>

/** Serves the management operations: finds the operation, checks the caller and the input, renders the response. */
export class ManagementRouter {
  readonly #app = new Hono<Env>()
  readonly #options: RouterOptions
  readonly #validator = new OperationValidator()
  readonly #console = new ConsolePages()

  constructor(options: RouterOptions) {
    this.#options = options
    // The cast is safe: each handler gets the input that its own specification describes.
    const handlerOf = (name: OperationName): AnyHandler => options.handlers[name] as unknown as AnyHandler
    const paths = new Map<string, Route[]>()
    for (const [name, spec] of Object.entries(OPERATIONS) as Array<[OperationName, OperationSpec]>) {
      const path = spec.path.replace(/\{(\w+)\}/g, ':$1')
      const resource = resourceOf(spec)
      const changed = isChange(spec) ? changedResourceOf(spec) : null
      const route = {
        name,
        spec,
        handle: handlerOf(name),
        show: resource === null ? null : handlerOf(resource),
        current: changed === null ? null : handlerOf(changed),
      }
      paths.set(path, [...(paths.get(path) ?? []), route])
    }
    // A path is the one with the fewest parameters: `/logs/bodies` is no `/logs/{logId}`, whatever the method.
    for (const [path, routes] of [...paths].sort(([a], [b]) => parametersIn(a) - parametersIn(b))) {
      for (const route of routes) this.#app.on(route.spec.method, path, (context) => this.#run(route, context))
      const allow = routes.map(({ spec }) => spec.method)
      this.#app.all(path, () => {
        throw new GatewayError('METHOD_NOT_ALLOWED', { message: `This path takes ${allow.join(', ')}.`, allow })
      })
    }
    const aiPaths = ALL_ENDPOINTS.map(({ path }) => path.replace(/\{(\w+)\}/g, ':$1'))
    const unknownPath = createUnknownPath([...paths.keys(), ...aiPaths])
    this.#app.notFound((context) => {
      throw unknownPath(context.env.request.path)
    })
    this.#app.onError((cause, context) => this.#failed(cause, context.env.request.requestId))
  }

  async serve(request: ManagementRequest): Promise<ManagementResponse> {
    try {
      if (this.#console.has(request)) return await this.#console.serve(request)
      return respond(await this.#app.fetch(toWebRequest(request), { request }))
    } catch (cause) {
      return respond(this.#failed(cause, request.requestId))
    }
  }

  /** Returns the response to a request that fails before `serve`. */
  refuse(error: GatewayError, requestId: string): ManagementResponse {
    return respond(this.#failed(error, requestId))
  }

  async #run(route: Route, context: Context<Env>): Promise<Response> {
    const { request } = context.env
    const { headers, path, address, requestId } = request
    const { guard } = this.#options
    const { name, spec } = route
    const params = storable(Object.entries(context.req.param()))
    const userAgent = headers['user-agent'] ?? ''
    let caller = await guard.identify(spec.access, headers['authorization'], { address, userAgent })
    let sent: unknown = null
    const sentQuery = new URLSearchParams([...new URLSearchParams(request.query)].map(storablePair))
    let query: unknown = null
    try {
      caller = await guard.admit(caller, spec, params['id'] ?? '')
      query = this.#validator.query(spec, sentQuery)
      if (showsBodies(spec, query)) caller = await guard.admitToBodies(caller, spec, params['id'] ?? '')
      sent = this.#validator.body(spec, parseBody(request.body))
      const attempt = { name, spec, path, params, query, sent, caller, address, requestId }
      return isChange(spec) ? await this.#change(route, attempt, request) : await this.#read(route, attempt, request)
    } catch (cause) {
      // The query of a caller who is not admitted is not checked, and may ask for bodies.
      query ??= { bodies: sentQuery.getAll('bodies').includes('true') }
      await this.#refused({ name, spec, path, params, query, sent, caller, address, requestId }, cause)
      throw cause
    }
  }

  async #read({ spec, handle, show }: Route, attempt: Attempt, request: ManagementRequest): Promise<Response> {
    const value: unknown = await handle(this.#callOf(attempt, request, [], []))
    if (showsBodies(spec, attempt.query)) await this.#options.looks.add(attempt, value)
    const headers = commonHeaders(request.requestId)
    if (value instanceof Redirect) {
      headers.set('Location', value.location)
      if (value.cookie !== null) headers.set('Set-Cookie', value.cookie)
      return rendered(spec.answer.status, null, headers)
    }
    if (value instanceof Download) return downloaded(spec, value, headers)
    const body = spec.answer.schema === null ? null : JSON.stringify(value)
    if (show === null || body === null) return rendered(spec.answer.status, body, headers)
    const tag = entityTagOf(value)
    headers.set('ETag', tag)
    const known = request.headers['if-none-match']
    if (known !== undefined && namesTagWeakly(known, tag)) return new Response(null, { status: 304, headers })
    return rendered(spec.answer.status, body, headers)
  }

  async #change({ handle, show, current }: Route, attempt: Attempt, request: ManagementRequest): Promise<Response> {
    const afterCommit: (() => void)[] = []
    const audited: Audited[] = []
    const call = this.#callOf(attempt, request, afterCommit, audited)
    const { status, body, isReplayed } = await this.#options.changes.apply(
      {
        ...attempt,
        idempotencyKey: request.headers['idempotency-key'] ?? null,
        ifMatch: request.headers['if-match'] ?? null,
        current: current === null ? null : () => current({ ...call, withoutSpend: true }),
        audited,
        afterCommit,
      },
      () => handle(call),
    )
    if (!isReplayed) for (const work of afterCommit) this.#quietly(work)
    const headers = commonHeaders(request.requestId)
    if (isReplayed) headers.set('Idempotent-Replayed', 'true')
    if (show !== null && body !== null) headers.set('ETag', entityTagOf(JSON.parse(body)))
    return rendered(status, body, headers)
  }

  #callOf(
    attempt: Attempt,
    request: ManagementRequest,
    afterCommit: (() => void)[],
    audited: Audited[],
  ): Call<OperationSpec> {
    const { params, query, sent, caller, spec } = attempt
    const { guard } = this.#options
    const { headers, address } = request
    return {
      params,
      query: query as Call<OperationSpec>['query'],
      body: sent as Call<OperationSpec>['body'],
      // The guard guarantees a caller for each operation that needs one.
      caller: caller as Caller,
      address,
      requestId: request.requestId,
      message: { headers, body: request.body },
      recheck: async () => {
        const origin = { address, userAgent: headers['user-agent'] ?? '' }
        const known = await guard.identify(spec.access, headers['authorization'], origin)
        await guard.admit(known, spec, params['id'] ?? '')
      },
      afterCommit: (work) => {
        afterCommit.push(work)
      },
      audit: (changed) => {
        audited.push(changed)
      },
      signal: request.signal,
    }
  }

  /** Reports a failure and ignores it: the operation itself is committed. */
  #quietly(work: () => void): void {
    try {
      work()
    } catch (cause) {
      this.#options.onFault(cause)
    }
  }

  async #refused(attempt: Attempt, cause: unknown): Promise<void> {
    if (!(cause instanceof GatewayError)) return
    try {
      await this.#options.refusals.add(attempt, cause)
    } catch (fault) {
      this.#options.onFault(fault)
    }
  }

  #failed(cause: unknown, requestId: string): Response {
    const error = GatewayError.from(cause)
    if (error.code === 'INTERNAL') this.#options.onFault(cause)
    const { type, message, code, param, status } = error
    const headers = commonHeaders(requestId)
    for (const [name, value] of errorFields(error)) headers.set(name, value)
    return Response.json({ error: { type, message, code, param, request_id: requestId } }, { status, headers })
  }
}

function parametersIn(path: string): number {
  return path.split('/:').length - 1
}

function downloaded(spec: OperationSpec, { contentType, fileName, body }: Download, headers: Headers): Response {
  headers.set('Content-Type', contentType)
  // Without it, nginx would keep events until it has some kilobytes of them.
  if (contentType === EVENT_STREAM) headers.set('X-Accel-Buffering', 'no')
  if (fileName !== null) headers.set('Content-Disposition', `attachment; filename="${fileName}"`)
  return new Response(typeof body === 'string' ? body : ReadableStream.from(body), {
    status: spec.answer.status,
    headers,
  })
}

function rendered(status: number, body: string | null, headers: Headers): Response {
  if (body !== null) headers.set('Content-Type', 'application/json')
  return new Response(body, { status, headers })
}

/** Replaces characters that no database can store: a search for such a text then finds nothing. */
function storable(texts: Iterable<readonly [name: string, text: string]>): Record<string, string> {
  return Object.fromEntries(Array.from(texts, storablePair))
}

function storablePair([name, text]: readonly [string, string]): [string, string] {
  return [name, storableText(text)]
}

function commonHeaders(requestId: string): Headers {
  return new Headers({ 'Cache-Control': 'no-store', 'X-Request-Id': requestId })
}

function parseBody(body: Buffer): unknown {
  if (body.length === 0) return undefined
  try {
    return JSON.parse(body.toString('utf8')) as unknown
  } catch {
    throw new GatewayError('INVALID_JSON')
  }
}
