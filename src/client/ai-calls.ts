import type { DeclaredEndpoint } from '../shared/endpoints/index.ts'
import { SluiceError } from './errors.ts'
import { EventStream } from './event-stream.ts'
import type { StreamEnd } from './event-stream.ts'
import { readJson } from './json.ts'
import type { CallOptions, ClientOptions } from './options.ts'
import { addressOf } from './route.ts'
import type { Outgoing, Transport } from './transport.ts'

const MESSAGES_VERSION = '2023-06-01'

/** Fields that this client does not know; they pass through. */
export type Unknown = Readonly<Record<string, unknown>>

type PathOf<Method> = Extract<DeclaredEndpoint, { readonly method: Method }>['path']

/** Calls of the AI endpoints. The gateway stores nothing for them, so all may be retried; a stream, until it begins. */
export class AiCalls {
  readonly #transport: Transport
  readonly #headers: Readonly<Record<string, string>>
  /**
   * The header with the version of the messages protocol. Requests without a body omit it: it would turn the list of models
   * into that of the messages protocol.
   */
  readonly #version: Readonly<Record<string, string>>

  constructor(transport: Transport, { apiKey, vendor = 'anthropic' }: ClientOptions) {
    this.#transport = transport
    this.#headers = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }
    this.#version = { [`${vendor}-version`]: MESSAGES_VERSION }
  }

  get<Answer>(
    path: PathOf<'GET'>,
    params: Readonly<Record<string, string>>,
    options: CallOptions = {},
  ): Promise<Answer> {
    return this.#transport.send(this.#outgoing('GET', path, params), options, readJson<Answer>)
  }

  post<Answer>(path: PathOf<'POST'>, body: Unknown, options: CallOptions = {}): Promise<Answer> {
    return this.#transport.send(this.#outgoing('POST', path, {}, body), options, readJson<Answer>)
  }

  /** Sends an Idempotency-Key, so that all attempts together create one thing. */
  create<Answer>(path: PathOf<'POST'>, body: Unknown, options: CallOptions = {}): Promise<Answer> {
    return this.post(path, body, { ...options, idempotencyKey: options.idempotencyKey ?? crypto.randomUUID() })
  }

  stream<Event>(
    path: PathOf<'POST'>,
    body: Unknown,
    end: StreamEnd,
    options: CallOptions = {},
  ): Promise<EventStream<Event>> {
    const outgoing = this.#outgoing('POST', path, {}, body)
    const headers = { ...outgoing.headers, accept: 'text/event-stream' }
    return this.#transport.send({ ...outgoing, headers }, options, async (response, attempt) => {
      const contentType = response.headers.get('content-type') ?? 'nothing'
      if (!contentType.startsWith('text/event-stream')) {
        throw new SluiceError(`Expected an answer of type text/event-stream, got ${contentType}.`)
      }
      return new EventStream<Event>(response, attempt, end)
    })
  }

  #outgoing(method: 'GET' | 'POST', path: string, params: Readonly<Record<string, string>>, body?: Unknown): Outgoing {
    const headers = body === undefined ? this.#headers : { ...this.#version, ...this.#headers }
    return { method, path: addressOf(path, params, {}), headers, body, repeats: 'always' }
  }
}
