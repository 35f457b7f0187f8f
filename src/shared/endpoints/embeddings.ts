import { Type } from 'typebox'
import type { Static } from 'typebox'
import { nullable } from '../api/nullable.ts'
import type { RequestFields } from '../core/request-body.ts'
import { PLAIN_FIELDS, serviceEndpoint } from './declare.ts'

/** A text, tokens, or a list of either; some services take objects that hold a text or a picture. */
export type EmbeddingInput = string | ReadonlyArray<string | number | readonly number[] | object>

/** POST /v1/embeddings. A null is the same as leaving the field out; fields not named here pass through. */
export const EmbeddingsRequest = Type.Object(
  {
    model: Type.String({ description: 'Embedding model id.', minLength: 1, maxLength: 256 }),
    input: Type.Unsafe<EmbeddingInput>({
      type: ['string', 'array'],
      description: 'The input to embed: a text, an array of token numbers, or an array of either.',
      minLength: 1,
      minItems: 1,
      items: {
        type: ['string', 'integer', 'array', 'object'],
        minLength: 1,
        minItems: 1,
        minimum: 0,
        items: { type: 'integer', minimum: 0 },
      },
    }),
    encoding_format: Type.Optional(
      nullable(
        Type.String({ description: 'float (arrays of numbers, the default) or base64 (little-endian float32).' }),
      ),
    ),
    dimensions: Type.Optional(
      nullable(Type.Integer({ description: 'Length of the vectors, where the model can vary it.', minimum: 1 })),
    ),
    user: Type.Optional(nullable(Type.String({ description: 'An opaque identifier of the end user.' }))),
  },
  { description: 'An embeddings request.' },
)
export type EmbeddingsRequest = Static<typeof EmbeddingsRequest>

export const Embeddings = Type.Object(
  {
    object: Type.Literal('list'),
    data: Type.Array(
      Type.Object({
        object: Type.Literal('embedding'),
        index: Type.Integer({ description: 'Position in the input.', minimum: 0 }),
        embedding: Type.Unsafe<number[] | string>({
          type: ['array', 'string'],
          items: { type: 'number' },
          description: 'Numbers, or their base64 when the request asks for it.',
        }),
      }),
    ),
    model: Type.Optional(Type.String({ description: 'Model id.' })),
    usage: Type.Object({ prompt_tokens: Type.Integer(), total_tokens: Type.Integer() }),
  },
  { description: 'One vector for each input, in order.' },
)
export type Embeddings = Static<typeof Embeddings>

export const embeddings = serviceEndpoint('embeddings', {
  operation: 'embed',
  name: 'embeddings',
  summary: 'Embed texts',
  body: EmbeddingsRequest,
  example: { model: 'sim-embed', input: ['A text', 'Another one'] },
  answer: Embeddings,
  fields: fieldsOf,
})

function fieldsOf(request: EmbeddingsRequest): RequestFields {
  const { model, input } = request
  const tokens = typeof input !== 'string' && typeof input[0] === 'number'
  const inputs = typeof input === 'string' || tokens ? 1 : input.length
  return { ...PLAIN_FIELDS, model, expected: { kind: 'embeddings', encoding: encodingOf(request), inputs } }
}

/** Voyage and Jina have fields of their own for vectors that are not float32: those vectors pass unchanged. */
function encodingOf(
  request: EmbeddingsRequest & { output_dtype?: unknown; embedding_type?: unknown },
): 'float' | 'base64' | 'as-is' {
  const numbers = request.output_dtype ?? request.embedding_type ?? 'float'
  const format = request.encoding_format ?? 'float'
  if (numbers !== 'float' || (format !== 'float' && format !== 'base64')) return 'as-is'
  return format
}
