import { Type } from 'typebox'
import type { TObject, TSchema } from 'typebox'
import { ChatCompletion, ChatCompletionChunk, ChatCompletionRequest } from './chat-completions.ts'
import { CountTokensRequest, CountTokensResponse } from './count-tokens.ts'
import { Embeddings, EmbeddingsRequest } from './embeddings.ts'
import { Health, Liveness, Readiness } from './health.ts'
import { Images, ImagesRequest } from './images.ts'
import { Message, MessagesRequest, MessageStreamEvent } from './messages.ts'
import { ModelEntry, ModelList, ModelListQuery } from './models.ts'
import { Ranking, RerankRequest } from './rerank.ts'
import { ResponsesRequest } from './responses.ts'
import { Video, VideoRequest } from './video.ts'

/** An endpoint of the data plane, as the documentation tells of it. */
export interface AiEndpoint {
  readonly name: string
  readonly method: 'get' | 'post'
  readonly path: string
  readonly tag: 'Models' | 'Health'
  readonly summary: string
  readonly body?: TObject
  /** Null: the shape is that of the service whose protocol it is. */
  readonly answer: TSchema | null
  /** Of the events, where the answer may be a stream. */
  readonly event?: TSchema
  readonly query?: TObject
  /** Of an answer that is no JSON. */
  readonly media?: string
  /** Nobody needs a key: it is open, or the link says all. */
  readonly isOpen?: boolean
}

const post = (name: string, path: string, summary: string, body: TObject, answer: TSchema | null, event?: TSchema) =>
  ({
    name,
    method: 'post',
    path,
    tag: 'Models',
    summary,
    body,
    answer,
    ...(event === undefined ? {} : { event }),
  }) as const

export const AI_ENDPOINTS: readonly AiEndpoint[] = [
  post(
    'chatCompletion',
    '/v1/chat/completions',
    'Answer a conversation (chat-completions protocol)',
    ChatCompletionRequest,
    ChatCompletion,
    ChatCompletionChunk,
  ),
  post(
    'message',
    '/v1/messages',
    'Answer a conversation (messages protocol)',
    MessagesRequest,
    Message,
    MessageStreamEvent,
  ),
  post('response', '/v1/responses', 'Answer a conversation (responses protocol, stateless)', ResponsesRequest, null),
  post(
    'countTokens',
    '/v1/messages/count_tokens',
    'Count the tokens of a prompt',
    CountTokensRequest,
    CountTokensResponse,
  ),
  post('embed', '/v1/embeddings', 'Embed texts', EmbeddingsRequest, Embeddings),
  post('rerank', '/v1/rerank', 'Order documents by how well they answer a query', RerankRequest, Ranking),
  post('generateImages', '/v1/images/generations', 'Make images', ImagesRequest, Images),
  post('generateVideo', '/v1/video/generations', 'Make a video', VideoRequest, Video),
  {
    name: 'video',
    method: 'get',
    path: '/v1/video/generations/{id}',
    tag: 'Models',
    summary: 'A video that was asked for before',
    answer: Video,
  },
  {
    name: 'videoContent',
    method: 'get',
    path: '/v1/video/generations/{id}/content',
    tag: 'Models',
    summary: 'The video itself, by the link of its job',
    query: Type.Object({
      expires: Type.Integer({ description: 'Unix time in seconds.' }),
      signature: Type.String(),
    }),
    answer: null,
    media: 'video/mp4',
    isOpen: true,
  },
  {
    name: 'models',
    method: 'get',
    path: '/v1/models',
    tag: 'Models',
    summary: 'The models that this key may use',
    query: ModelListQuery,
    answer: ModelList,
  },
  { name: 'model', method: 'get', path: '/v1/models/{id}', tag: 'Models', summary: 'One model', answer: ModelEntry },
  {
    name: 'health',
    method: 'get',
    path: '/health',
    tag: 'Health',
    summary: 'How the gateway does',
    answer: Health,
    isOpen: true,
  },
  {
    name: 'liveness',
    method: 'get',
    path: '/health/live',
    tag: 'Health',
    summary: 'The process is there',
    answer: Liveness,
    isOpen: true,
  },
  {
    name: 'readiness',
    method: 'get',
    path: '/health/ready',
    tag: 'Health',
    summary: 'The gateway takes requests',
    answer: Readiness,
    isOpen: true,
  },
]

/** Those that clients of the messages protocol find under the vendor's name too. */
const ALIASED: ReadonlySet<string> = new Set(['message', 'countTokens', 'models', 'model'])

/** @param vendor whose clients find some endpoints under `/<vendor>` too */
export function aiEndpoints(vendor: string): readonly AiEndpoint[] {
  const aliases = AI_ENDPOINTS.filter(({ name }) => ALIASED.has(name)).map((endpoint) => ({
    ...endpoint,
    name: `${endpoint.name}OfVendor`,
    path: `/${vendor}${endpoint.path}`,
    summary: `${endpoint.summary}: the same as ${endpoint.path}`,
  }))
  return [...AI_ENDPOINTS, ...aliases]
}
