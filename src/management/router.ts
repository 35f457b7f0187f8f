import { Hono } from 'hono'
import type { Context } from 'hono'
import type { OperationSpec } from '../api/operation.ts'
import { OPERATIONS } from '../api/operations/index.ts'
import type { OperationName } from '../api/operations/index.ts'
import { GatewayError } from '../core/errors.ts'
import { OperationValidator } from '../validation/operation-validator.ts'
import { storableText } from '../store/text.ts'
import { Download } from './call.ts'
import type { Call, Handler, Handlers } from './call.ts'
import type { Guard } from './guard.ts'
import { respond, toWebRequest } from './web.ts'
import type { ManagementRequest, ManagementResponse } from './web.ts'

interface Env {
  readonly Bindings: { readonly request: ManagementRequest }
}

type AnyHandler = Handler<OperationSpec>

/** Serves the operations of the management plane: finds the operation, checks the caller and what was sent, renders what comes of it. */
export class ManagementRouter {
  readonly #app = new Hono<Env>()
  readonly #guard: Guard
  readonly #validator = new OperationValidator()
  readonly #onFault: (cause: unknown) => void

  constructor(handlers: Handlers, guard: Guard, onFault: (cause: unknown) => void) {
    this.#guard = guard
    this.#onFault = onFault
    const paths = new Set<string>()
    for (const [name, spec] of Object.entries(OPERATIONS)) {
      const path = spec.path.replace(/\{(\w+)\}/g, ':$1')
      paths.add(path)
      // Each handler takes what its own specification says, which is what it is given.
      const handler = handlers[name as OperationName] as unknown as AnyHandler
      this.#app.on(spec.method, path, (context) => this.#run(spec, handler, context))
    }
    for (const path of paths) {
      this.#app.all(path, () => {
        throw new GatewayError('METHOD_NOT_ALLOWED')
      })
    }
    this.#app.notFound(() => {
      throw new GatewayError('ROUTE_NOT_FOUND')
    })
    this.#app.onError((cause, context) => this.#failed(cause, context.env.request.requestId))
  }

  async serve(request: ManagementRequest): Promise<ManagementResponse> {
    try {
      return respond(await this.#app.fetch(toWebRequest(request), { request }))
    } catch (cause) {
      return respond(this.#failed(cause, request.requestId))
    }
  }

  async #run(spec: OperationSpec, handle: AnyHandler, context: Context<Env>): Promise<Response> {
    const { request } = context.env
    const params = storable(Object.entries(context.req.param()))
    const caller = await this.#guard.admit(spec.access, request.headers['authorization'], params['id'] ?? '')
    const call = {
      params,
      query: this.#validator.query(
        spec,
        new URLSearchParams(Object.entries(storable(new URLSearchParams(request.query)))),
      ),
      body: this.#validator.body(spec, parseBody(request.body)),
      caller,
      address: request.address,
      idempotencyKey: request.headers['idempotency-key'] ?? null,
      signal: request.signal,
    }
    return render(spec, await handle(call as Call<OperationSpec>), request.requestId)
  }

  #failed(cause: unknown, requestId: string): Response {
    const error = GatewayError.from(cause)
    if (error.code === 'INTERNAL') this.#onFault(cause)
    const { type, message, code, param, status, retryAfterSeconds } = error
    const headers = commonHeaders(requestId)
    if (retryAfterSeconds !== null) headers.set('Retry-After', String(Math.max(1, Math.ceil(retryAfterSeconds))))
    return Response.json({ error: { type, message, code, param, request_id: requestId } }, { status, headers })
  }
}

function render(spec: OperationSpec, value: unknown, requestId: string): Response {
  const { status } = spec.answer
  const headers = commonHeaders(requestId)
  if (value instanceof Download) {
    headers.set('Content-Type', value.contentType)
    if (value.fileName !== null) headers.set('Content-Disposition', `attachment; filename="${value.fileName}"`)
    const { body } = value
    return new Response(typeof body === 'string' ? body : ReadableStream.from(body), { status, headers })
  }
  return spec.answer.schema === null
    ? new Response(null, { status, headers })
    : Response.json(value, { status, headers })
}

/** What is looked for is nowhere when no database could hold it. */
function storable(texts: Iterable<readonly [name: string, text: string]>): Record<string, string> {
  return Object.fromEntries(Array.from(texts, ([name, text]) => [name, storableText(text)]))
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
