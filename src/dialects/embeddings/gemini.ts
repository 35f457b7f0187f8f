import type { UpstreamFailure } from '../../shared/core/dialect.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import { objects, put } from '../common/fields.ts'
import { googlePath } from '../gemini/address.ts'
import { geminiFailure } from '../gemini/errors.ts'
import { asObject, valueAt } from '../common/json-value.ts'
import { unsupportedField } from '../dropped-fields.ts'
import type { BuiltCall } from '../services/codec.ts'
import { carry } from '../services/fields.ts'
import { firstCount, tokenCount } from '../common/token-count.ts'
import { brokenFailure } from '../common/whole-answer.ts'
import type { EmbeddingsAsk, EmbeddingsCodec, ParsedEmbeddings } from './codec.ts'

/** The Gemini API. One call holds a request for each input. */
export const geminiEmbeddings: EmbeddingsCodec = {
  path: (base, model) => googlePath(base, model, 'batchEmbedContents'),
  maxInputs: 100,
  takesTokens: false,
  takesObjects: false,
  buildRequest: buildBatch,
  parseAnswer,
}

/** Vertex AI. Its newer models take one input for each call. */
export const vertexEmbeddings: EmbeddingsCodec = {
  ...geminiEmbeddings,
  path: (base, model) => googlePath(base, model, 'predict'),
  maxInputs: 1,
  buildRequest: buildPredict,
}

function buildBatch({ model, inputs, dimensions, encoding, others }: EmbeddingsAsk): BuiltCall {
  if (encoding === 'as-is') throw unsupportedField('encoding_format')
  const extra: Record<string, unknown> = {}
  const dropped = carry(others, extra, { task_type: 'taskType', title: 'title' })
  put(extra, 'outputDimensionality', dimensions)
  const name = model.includes('/') ? model : `models/${model}`
  const requests = inputs.map((text) => ({ model: name, content: { parts: [{ text }] }, ...extra }))
  return { body: { requests }, dropped }
}

function buildPredict({ inputs, dimensions, encoding, others }: EmbeddingsAsk): BuiltCall {
  if (encoding === 'as-is') throw unsupportedField('encoding_format')
  const extra: Record<string, unknown> = {}
  const dropped = carry(others, extra, { task_type: 'task_type', title: 'title' })
  const body: Record<string, unknown> = { instances: inputs.map((content) => ({ content, ...extra })) }
  if (dimensions !== null) body['parameters'] = { outputDimensionality: dimensions }
  return { body, dropped }
}

/** Parses an answer of batchEmbedContents, embedContent or predict. */
function parseAnswer(value: unknown): ParsedEmbeddings | UpstreamFailure {
  const answer = asObject(value) ?? {}
  if (answer['error']) return geminiFailure(value)
  const vectors = vectorsOf(answer)
  return vectors === null ? brokenFailure(value, 'no embeddings') : { vectors, promptTokens: countOf(value) }
}

function vectorsOf(answer: JsonObject): readonly unknown[] | null {
  if (Array.isArray(answer['embeddings'])) return answer['embeddings'].map((one) => valueAt(one, 'values'))
  if (asObject(answer['embedding']) !== null) return [valueAt(answer, 'embedding', 'values')]
  if (!Array.isArray(answer['predictions'])) return null
  return answer['predictions'].map((one) => valueAt(one, 'embeddings', 'values'))
}

/** Null unless the service tells the tokens of all inputs. */
function countOf(answer: unknown): number | null {
  const whole = firstCount(valueAt(answer, 'usageMetadata', 'promptTokenCount'))
  if (whole !== null) return whole
  const counts = objects(valueAt(answer, 'predictions')).map((one) =>
    tokenCount(valueAt(one, 'embeddings', 'statistics', 'token_count')),
  )
  if (counts.length === 0 || counts.includes(null)) return null
  return counts.reduce<number>((sum, count) => sum + (count ?? 0), 0)
}
