import { Ajv } from 'ajv'
import type { ValidateFunction } from 'ajv'
import type { Static } from 'typebox'
import { ChatCompletionRequest } from '../../shared/api/chat-completions.ts'
import { CountTokensRequest } from '../../shared/api/count-tokens.ts'
import { EmbeddingsRequest } from '../../shared/api/embeddings.ts'
import { ImagesRequest } from '../../shared/api/images.ts'
import { MessagesRequest } from '../../shared/api/messages.ts'
import { RerankRequest } from '../../shared/api/rerank.ts'
import { ResponsesRequest } from '../../shared/api/responses.ts'
import { VideoRequest } from '../../shared/api/video.ts'

export interface RequestValidators {
  readonly chat: ValidateFunction<Static<typeof ChatCompletionRequest>>
  readonly responses: ValidateFunction<Static<typeof ResponsesRequest>>
  readonly messages: ValidateFunction<Static<typeof MessagesRequest>>
  readonly countTokens: ValidateFunction<Static<typeof CountTokensRequest>>
  readonly embeddings: ValidateFunction<Static<typeof EmbeddingsRequest>>
  readonly rerank: ValidateFunction<Static<typeof RerankRequest>>
  readonly images: ValidateFunction<Static<typeof ImagesRequest>>
  readonly video: ValidateFunction<Static<typeof VideoRequest>>
}

/** Compiles the schemas of all request bodies: some milliseconds, once per process. Nothing is coerced or defaulted. */
export function compileSchemas(): RequestValidators {
  const ajv = new Ajv({
    strict: true,
    allowUnionTypes: true,
    discriminator: true,
    allErrors: false,
    coerceTypes: false,
    // Errors then hold the schema they come from, which gives the whole range for the message.
    verbose: true,
  })
  return {
    chat: ajv.compile<Static<typeof ChatCompletionRequest>>(ChatCompletionRequest),
    responses: ajv.compile<Static<typeof ResponsesRequest>>(ResponsesRequest),
    messages: ajv.compile<Static<typeof MessagesRequest>>(MessagesRequest),
    countTokens: ajv.compile<Static<typeof CountTokensRequest>>(CountTokensRequest),
    embeddings: ajv.compile<Static<typeof EmbeddingsRequest>>(EmbeddingsRequest),
    rerank: ajv.compile<Static<typeof RerankRequest>>(RerankRequest),
    images: ajv.compile<Static<typeof ImagesRequest>>(ImagesRequest),
    video: ajv.compile<Static<typeof VideoRequest>>(VideoRequest),
  }
}
