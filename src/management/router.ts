import { bearerToken, isSameSecret } from '../core/bearer.ts'
import { GatewayError } from '../core/errors.ts'
import type { TokenSubject, Tokens } from './tokens.ts'

/** A management request as it reaches the control process. */
export interface ManagementRequest {
  readonly requestId: string
  readonly method: string
  readonly path: string
  readonly query: string
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly address: string
  readonly body: Buffer
  readonly signal: AbortSignal
}

export interface ManagementResponse {
  readonly status: number
  readonly headers: ReadonlyArray<readonly [string, string]>
  readonly body: Buffer | AsyncIterable<Buffer>
}

export interface RouteInput {
  readonly request: ManagementRequest
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
  /** Parsed; undefined without a body. */
  readonly json: unknown
}

interface RouteBase {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** `{name}` stands for one segment. */
  readonly path: string
}

/** Who may call a route is part of it: there is no route without. */
export type ManagementRoute = RouteBase &
  (
    | { readonly allow: 'everyone'; readonly handle: (input: RouteInput) => Promise<unknown> }
    /** Admins, and whoever sends the secret in place of a token. */
    | {
        readonly allow: 'scraper'
        readonly secret: string | null
        readonly handle: (input: RouteInput) => Promise<unknown>
      }
    | {
        readonly allow: 'user' | 'admin'
        readonly handle: (input: RouteInput, caller: TokenSubject) => Promise<unknown>
      }
  )

/** What a handler returns when its answer is not JSON. */
export class PlainAnswer {
  readonly contentType: string
  readonly text: string

  constructor(contentType: string, text: string) {
    this.contentType = contentType
    this.text = text
  }
}

interface CompiledRoute {
  readonly route: ManagementRoute
  readonly pattern: RegExp
}

/** Serves the management plane: finds the route, checks the caller against it, renders what it returns as JSON. */
export class ManagementRouter {
  readonly #routes: readonly CompiledRoute[]
  readonly #tokens: Tokens
  readonly #onFault: (cause: unknown) => void

  constructor(routes: readonly ManagementRoute[], tokens: Tokens, onFault: (cause: unknown) => void) {
    this.#routes = routes.map((route) => ({
      route,
      pattern: new RegExp(`^${route.path.replace(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`),
    }))
    this.#tokens = tokens
    this.#onFault = onFault
  }

  async serve(request: ManagementRequest): Promise<ManagementResponse> {
    try {
      const { route, params } = this.#find(request)
      const input: RouteInput = {
        request,
        params,
        query: new URLSearchParams(request.query),
        json: parseBody(request.body),
      }
      return render(200, await this.#handle(route, input), request.requestId)
    } catch (cause) {
      const error = GatewayError.from(cause)
      if (error.code === 'INTERNAL') this.#onFault(cause)
      return renderError(error, request.requestId)
    }
  }

  async #handle(route: ManagementRoute, input: RouteInput): Promise<unknown> {
    const { request } = input
    switch (route.allow) {
      case 'everyone':
        return route.handle(input)
      case 'scraper': {
        const sent = bearerToken(request.headers['authorization'])
        const knows = route.secret !== null && sent !== null && isSameSecret(sent, route.secret)
        if (!knows) await this.#caller(request, 'admin')
        return route.handle(input)
      }
      default:
        return route.handle(input, await this.#caller(request, route.allow))
    }
  }

  #find(request: ManagementRequest): { route: ManagementRoute; params: Record<string, string> } {
    const matching = this.#routes.flatMap(({ route, pattern }) => {
      const match = pattern.exec(request.path)
      return match === null ? [] : [{ route, params: match.groups ?? {} }]
    })
    const found = matching.find(({ route }) => route.method === request.method)
    if (found !== undefined) return found
    throw new GatewayError(matching.length === 0 ? 'ROUTE_NOT_FOUND' : 'METHOD_NOT_ALLOWED')
  }

  async #caller(request: ManagementRequest, allow: 'user' | 'admin'): Promise<TokenSubject> {
    const token = bearerToken(request.headers['authorization'])
    if (token === null) throw new GatewayError('TOKEN_INVALID', { message: 'Send a token as Authorization: Bearer.' })
    const caller = await this.#tokens.verify(token)
    if (allow === 'admin' && caller.role !== 'admin') throw new GatewayError('ROLE_DENIED')
    return caller
  }
}

function parseBody(body: Buffer): unknown {
  if (body.length === 0) return undefined
  try {
    return JSON.parse(body.toString('utf8')) as unknown
  } catch {
    throw new GatewayError('INVALID_JSON')
  }
}

function render(status: number, value: unknown, requestId: string): ManagementResponse {
  const [contentType, text] =
    value instanceof PlainAnswer ? [value.contentType, value.text] : ['application/json', JSON.stringify(value)]
  return {
    status,
    headers: [
      ['Content-Type', contentType],
      ['Cache-Control', 'no-store'],
      ['X-Request-Id', requestId],
    ],
    body: Buffer.from(text),
  }
}

function renderError(error: GatewayError, requestId: string): ManagementResponse {
  const { type, message, code, param } = error
  return render(error.status, { error: { type, message, code, param, request_id: requestId } }, requestId)
}
