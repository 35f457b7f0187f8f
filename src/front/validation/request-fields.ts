import type { ChatCompletionRequest } from '../../shared/api/chat-completions.ts'
import type { EmbeddingsRequest } from '../../shared/api/embeddings.ts'
import type { ImagesRequest } from '../../shared/api/images.ts'
import type { MessagesRequest } from '../../shared/api/messages.ts'
import type { RerankRequest } from '../../shared/api/rerank.ts'
import type { VideoRequest } from '../../shared/api/video.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import type { RequestBody } from '../../shared/core/request-body.ts'

/** What of a request is in its fields; the rest of a RequestBody comes from the bytes. */
export type RequestFields = Pick<
  RequestBody,
  'model' | 'stream' | 'wantsUsage' | 'maxOutputTokens' | 'choices' | 'expected'
> & { readonly hasTools: boolean }

/** Of an endpoint whose answers come whole and generate no text. */
const PLAIN = { stream: false, wantsUsage: false, maxOutputTokens: 0, choices: 1, hasTools: false } as const

export function chatFields(request: ChatCompletionRequest): RequestFields {
  const older = request.max_tokens ?? null
  const newer = request.max_completion_tokens ?? null
  return {
    model: request.model,
    stream: request.stream ?? false,
    wantsUsage: request.stream_options?.include_usage ?? false,
    // Which of the two an upstream obeys is its own affair: reserve for the larger.
    maxOutputTokens: older !== null && newer !== null ? Math.max(older, newer) : (newer ?? older),
    choices: request.n ?? 1,
    hasTools: (request.tools?.length ?? 0) > 0,
    expected: null,
  }
}

export function messagesFields(
  request: Pick<MessagesRequest, 'model' | 'tools'>,
  stream: boolean,
  maxOutputTokens: number | null,
): RequestFields {
  return {
    model: request.model,
    stream,
    wantsUsage: true,
    maxOutputTokens,
    choices: 1,
    hasTools: (request.tools?.length ?? 0) > 0,
    expected: null,
  }
}

export function embeddingsFields(request: EmbeddingsRequest): RequestFields {
  const { model, input } = request
  const tokens = typeof input !== 'string' && typeof input[0] === 'number'
  const inputs = typeof input === 'string' || tokens ? 1 : input.length
  return { ...PLAIN, model, expected: { kind: 'embeddings', encoding: encodingOf(request), inputs } }
}

/** Voyage and Jina have vectors of other numbers than float32, under names of their own: those stay as they come. */
function encodingOf(
  request: EmbeddingsRequest & { output_dtype?: unknown; embedding_type?: unknown },
): 'float' | 'base64' | 'as-is' {
  const numbers = request.output_dtype ?? request.embedding_type ?? 'float'
  const format = request.encoding_format ?? 'float'
  if (numbers !== 'float' || (format !== 'float' && format !== 'base64')) return 'as-is'
  return format
}

export function rerankFields(request: RerankRequest): RequestFields {
  const { model, documents } = request
  return {
    ...PLAIN,
    model,
    expected: {
      kind: 'rerank',
      documents: documents.length,
      topN: request.top_n ?? null,
      showsDocuments: request.return_documents ?? true,
      wantsDocuments: request.return_documents ?? false,
    },
  }
}

export function imagesFields(request: ImagesRequest): RequestFields {
  if (request.stream === true) {
    throw new GatewayError('INVALID_FIELD', { param: '/stream', message: 'stream must be false: images come whole.' })
  }
  return {
    ...PLAIN,
    model: request.model,
    // Some models count the picture in tokens, thousands of them.
    maxOutputTokens: null,
    choices: request.n ?? 1,
    expected: { kind: 'images', wantsUrl: request.response_format !== 'b64_json', count: request.n ?? 1 },
  }
}

export function videoFields(request: VideoRequest): RequestFields {
  return { ...PLAIN, model: request.model, expected: { kind: 'video', waits: request.async !== true } }
}
