import type { UpstreamFailure } from '../../shared/core/dialect.ts'
import { put } from '../common/fields.ts'
import { readInputUsage } from '../common/input-usage.ts'
import { unsupportedField } from '../dropped-fields.ts'
import { valueAt } from '../common/json-value.ts'
import { carry } from '../services/fields.ts'
import { brokenFailure } from '../common/whole-answer.ts'
import type { BuiltCall } from '../services/codec.ts'
import type { EmbeddingsAsk, EmbeddingsCodec, ParsedEmbeddings } from './codec.ts'

const PASSED = { input_type: 'input_type', truncate: 'truncate', max_tokens: 'max_tokens' }

/** Version 2 of Cohere's API. */
export const cohereEmbeddings: EmbeddingsCodec = {
  path: (base) => `${base}/v2/embed`,
  maxInputs: 96,
  takesTokens: false,
  takesObjects: false,
  buildRequest,
  parseAnswer,
}

function buildRequest({ model, inputs, dimensions, encoding, others }: EmbeddingsAsk): BuiltCall {
  if (encoding === 'as-is') throw unsupportedField('encoding_format')
  // The service requires the purpose of the vectors. Most vectors are stored and searched.
  const body: Record<string, unknown> = {
    model,
    texts: inputs,
    input_type: 'search_document',
    embedding_types: ['float'],
  }
  put(body, 'output_dimension', dimensions)
  return { body, dropped: carry(others, body, PASSED) }
}

function parseAnswer(answer: unknown): ParsedEmbeddings | UpstreamFailure {
  const vectors = valueAt(answer, 'embeddings', 'float')
  if (!Array.isArray(vectors)) return brokenFailure(answer, 'no embeddings')
  return { vectors, promptTokens: readInputUsage(answer)?.promptTokens ?? null }
}
