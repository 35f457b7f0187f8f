import type { AnswerRequest, BufferedAnswer } from '../../core/dialect.ts'
import type { JsonObject } from '../../core/json-object.ts'
import { emptyUsage } from '../../core/usage.ts'
import { objects } from '../fields.ts'
import { asObject, valueAt } from '../json-value.ts'
import { failedAnswer, geminiFailure } from '../gemini/errors.ts'
import { encodeVector } from '../openai-embeddings/vectors.ts'
import { firstCount, tokenCount } from '../token-count.ts'
import { brokenAnswer, goodAnswer } from '../whole-answer.ts'

/**
 * Reads a 200 of batchEmbedContents, embedContent or, of older models, predict, and brings it to the shape of an embeddings
 * answer: a vector for each input, in the encoding asked for, with usage, which mostly has to be estimated.
 */
export function readEmbeddings(value: unknown, request: AnswerRequest, model: string): BufferedAnswer {
  const answer = asObject(value) ?? {}
  if (answer['error']) return failedAnswer(geminiFailure(value))
  const vectors = vectorsOf(answer)
  if (vectors === null) return brokenAnswer(value, 'no embeddings')
  const expected = request.expected?.kind === 'embeddings' ? request.expected : null
  if (expected !== null && vectors.length !== expected.inputs) {
    return brokenAnswer(null, `${vectors.length} embeddings for ${expected.inputs} inputs`)
  }
  const data: JsonObject[] = []
  for (const [index, numbers] of vectors.entries()) {
    const packed = Array.isArray(numbers) && numbers.length > 0 ? encodeVector(numbers) : null
    if (packed === null) return brokenAnswer(null, 'an embedding that is none')
    data.push({ object: 'embedding', index, embedding: expected?.encoding === 'base64' ? packed : numbers })
  }
  const counted = countOf(value)
  const tokens = counted ?? request.estimatedPromptTokens
  const usage = counted === null ? null : { ...emptyUsage(), promptTokens: counted }
  return goodAnswer(usage, { object: 'list', data, model, usage: { prompt_tokens: tokens, total_tokens: tokens } })
}

function vectorsOf(answer: JsonObject): readonly unknown[] | null {
  if (Array.isArray(answer['embeddings'])) return answer['embeddings'].map((one) => valueAt(one, 'values'))
  if (asObject(answer['embedding']) !== null) return [valueAt(answer, 'embedding', 'values')]
  if (!Array.isArray(answer['predictions'])) return null
  return answer['predictions'].map((one) => valueAt(one, 'embeddings', 'values'))
}

/** Null when it is not told for all of them. */
function countOf(answer: unknown): number | null {
  const whole = firstCount(valueAt(answer, 'usageMetadata', 'promptTokenCount'))
  if (whole !== null) return whole
  const counts = objects(valueAt(answer, 'predictions')).map((one) =>
    tokenCount(valueAt(one, 'embeddings', 'statistics', 'token_count')),
  )
  if (counts.length === 0 || counts.includes(null)) return null
  return counts.reduce<number>((sum, count) => sum + (count ?? 0), 0)
}
