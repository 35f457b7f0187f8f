import type {
  ChatCompletion,
  ChatCompletionChunk,
  ChatCompletionRequest,
} from '../shared/endpoints/chat-completions.ts'
import type { CountTokensRequest, CountTokensResponse } from '../shared/endpoints/count-tokens.ts'
import type { Embeddings, EmbeddingsRequest } from '../shared/endpoints/embeddings.ts'
import type { Health, Liveness, Readiness } from '../shared/endpoints/health.ts'
import type { Images, ImagesRequest } from '../shared/endpoints/images.ts'
import type { Message, MessagesRequest, MessageStreamEvent } from '../shared/endpoints/messages.ts'
import type { ModelEntry, ModelList } from '../shared/endpoints/models.ts'
import type { Ranking, RerankRequest } from '../shared/endpoints/rerank.ts'
import type { ResponsesRequest } from '../shared/endpoints/responses.ts'
import type { Video, VideoRequest } from '../shared/endpoints/video.ts'
import type { ToolResult } from '../shared/api/tool-endpoints.ts'
import { AiCalls } from './ai-calls.ts'
import type { Unknown } from './ai-calls.ts'
import { CHAT_END, MESSAGES_END, RESPONSES_END } from './event-stream.ts'
import type { EventStream } from './event-stream.ts'
import { itemsOf } from './lists.ts'
import { management, OperationCalls } from './operation-calls.ts'
import type { AnswerWithHeaders } from './operation-calls.ts'
import type { CallArguments, ClientOperation, ItemOf, ListOperation, Management, ResultOf } from './operations.ts'
import type { CallOptions, ClientOptions } from './options.ts'
import { Transport } from './transport.ts'
import { waitForVideo } from './wait-for-video.ts'
import type { WaitOptions } from './wait-for-video.ts'

/**
 * Client of a gateway, for Node or a browser. The AI endpoints (`chat`, `messages` and so on) use the API key. `management`
 * is everything else and uses the token of the user who is logged in.
 *
 * All calls reject with a SluiceError: AuthenticationError, RateLimitError and other ApiErrors, ConnectionError,
 * TimeoutError.
 */
export class SluiceClient {
  /** All operations of the management plane, in groups: `client.management.keys.createKey({ body: { name: 'ci' } })`. */
  readonly management: Management
  readonly #ai: AiCalls
  readonly #operations: OperationCalls

  /** Throws TypeError when `baseUrl` is not an http or https URL. */
  constructor(options: ClientOptions) {
    const transport = new Transport(options)
    this.#ai = new AiCalls(transport, options)
    this.#operations = new OperationCalls(transport, options.token ?? null)
    this.management = management(this.#operations)
  }

  /** Token of the management plane. `login` sets it. */
  get token(): string | null {
    return this.#operations.token
  }

  set token(token: string | null) {
    this.#operations.token = token
  }

  /** Logs in, and calls the management plane as that user from now on. */
  async login(
    body: { readonly phone: string; readonly password: string; readonly code?: string },
    options?: CallOptions,
  ): Promise<ResultOf<'login'>> {
    const session = await this.call('login', { body }, options)
    this.token = session.token
    return session
  }

  /** Calls an operation of the management plane by its name: `client.call('getKey', { params: { id } })`. */
  async call<Name extends ClientOperation>(name: Name, ...args: CallArguments<Name>): Promise<ResultOf<Name>> {
    return (await this.#operations.call(name, ...args)).data
  }

  /** Does the same as `call`, and adds the answer's ETag (for `ifMatch`) and headers. */
  callWithHeaders<Name extends ClientOperation>(
    name: Name,
    ...args: CallArguments<Name>
  ): Promise<AnswerWithHeaders<ResultOf<Name>>> {
    return this.#operations.call(name, ...args)
  }

  /** Yields all entries of a list, page by page: `for await (const key of client.list('listKeys'))`. */
  list<Name extends ListOperation>(name: Name, ...args: CallArguments<Name>): AsyncGenerator<ItemOf<Name>, void> {
    return itemsOf(this.#operations, name, args)
  }

  /**
   * Calls a tool of the gateway, or of a server behind it, as the user who is logged in. It is repeated only after an answer that proves
   * that it was not called: it may change something.
   */
  callTool(name: string, input: Readonly<Record<string, unknown>>, options?: CallOptions): Promise<ToolResult> {
    return this.#operations.callTool(name, input, options)
  }

  readonly chat = {
    create: (body: ChatCompletionRequest & Unknown, options?: CallOptions): Promise<ChatCompletion> =>
      this.#ai.post('/v1/chat/completions', { ...body, stream: false }, options),
    /** With `stream_options: { include_usage: true }` the last chunk holds the usage. */
    stream: (body: ChatCompletionRequest & Unknown, options?: CallOptions): Promise<EventStream<ChatCompletionChunk>> =>
      this.#ai.stream('/v1/chat/completions', { ...body, stream: true }, CHAT_END, options),
  }

  readonly messages = {
    create: (body: MessagesRequest & Unknown, options?: CallOptions): Promise<Message> =>
      this.#ai.post('/v1/messages', { ...body, stream: false }, options),
    stream: (body: MessagesRequest & Unknown, options?: CallOptions): Promise<EventStream<MessageStreamEvent>> =>
      this.#ai.stream('/v1/messages', { ...body, stream: true }, MESSAGES_END, options),
    countTokens: (body: CountTokensRequest & Unknown, options?: CallOptions): Promise<CountTokensResponse> =>
      this.#ai.post('/v1/messages/count_tokens', body, options),
  }

  readonly responses = {
    create: (body: ResponsesRequest & Unknown, options?: CallOptions): Promise<Unknown> =>
      this.#ai.post('/v1/responses', { ...body, stream: false }, options),
    stream: (body: ResponsesRequest & Unknown, options?: CallOptions): Promise<EventStream<Unknown>> =>
      this.#ai.stream('/v1/responses', { ...body, stream: true }, RESPONSES_END, options),
  }

  readonly embeddings = {
    create: (body: EmbeddingsRequest & Unknown, options?: CallOptions): Promise<Embeddings> =>
      this.#ai.post('/v1/embeddings', body, options),
  }

  readonly rerank = {
    create: (body: RerankRequest & Unknown, options?: CallOptions): Promise<Ranking> =>
      this.#ai.post('/v1/rerank', body, options),
  }

  readonly images = {
    generate: (body: ImagesRequest & Unknown, options?: CallOptions): Promise<Images> =>
      this.#ai.post('/v1/images/generations', body, options),
  }

  readonly videos = {
    /** Resolves with the job as soon as it has started. Retries create no second video. */
    create: (body: VideoRequest & Unknown, options?: CallOptions): Promise<Video> =>
      this.#ai.create('/v1/video/generations', { ...body, async: true }, options),
    get: (id: string, options?: CallOptions): Promise<Video> =>
      this.#ai.get('/v1/video/generations/{id}', { id }, options),
    /** Polls until the job is `completed` or `failed`. Rejects with TimeoutError. */
    wait: (id: string, options: WaitOptions = {}): Promise<Video> =>
      waitForVideo((signal) => this.videos.get(id, { signal }), options),
  }

  readonly models = {
    list: (options?: CallOptions): Promise<ModelList> => this.#ai.get('/v1/models', {}, options),
    get: (id: string, options?: CallOptions): Promise<ModelEntry> => this.#ai.get('/v1/models/{id}', { id }, options),
  }

  readonly health = {
    get: (options?: CallOptions): Promise<Health> => this.#ai.get('/health', {}, options),
    live: (options?: CallOptions): Promise<Liveness> => this.#ai.get('/health/live', {}, options),
    /** Rejects with an ApiError of status 503 while the gateway is not ready. */
    ready: (options?: CallOptions): Promise<Readiness> => this.#ai.get('/health/ready', {}, options),
  }
}
