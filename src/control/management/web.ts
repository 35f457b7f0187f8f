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

/** A web `Request` cannot have these methods (https://fetch.spec.whatwg.org/#forbidden-method). */
const FORBIDDEN = new Set(['CONNECT', 'TRACE', 'TRACK'])

/** Only for routing: the handlers read the `ManagementRequest` itself. */
export function toWebRequest({ method, path, query, signal }: ManagementRequest): Request {
  const url = new URL(`http://management${path}`)
  url.search = query
  // No path takes such a method: any other that no path takes leads to the same refusal.
  return new Request(url, { method: FORBIDDEN.has(method.toUpperCase()) ? 'REFUSED' : method, signal })
}

export function respond(response: Response): ManagementResponse {
  const { status, headers, body } = response
  return { status, headers: [...headers], body: body === null ? Buffer.alloc(0) : buffers(body) }
}

async function* buffers(body: ReadableStream<Uint8Array>): AsyncGenerator<Buffer> {
  for await (const piece of body) yield Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength)
}
