import type { AnswerRequest, BufferedAnswer } from '../../shared/core/dialect.ts'
import { readInputUsage } from '../common/input-usage.ts'
import { asObject } from '../common/json-value.ts'
import type { JsonObject } from '../common/json-value.ts'
import { brokenAnswer, goodAnswer } from '../common/whole-answer.ts'
import { decodeVector, encodeVector } from './vectors.ts'

type Encoding = 'float' | 'base64' | 'as-is'

/**
 * Reads a buffered 200: one vector for each input, in the order of the inputs and in the encoding asked for, with usage.
 * Unknown members stay. Throws SyntaxError when it is not JSON.
 */
export function readAnswer(body: Buffer, request: AnswerRequest): BufferedAnswer {
  const value: unknown = JSON.parse(body.toString('utf8'))
  const answer = asObject(value)
  const data = answer?.['data']
  if (answer === null || answer['error'] || !Array.isArray(data)) return brokenAnswer(value, 'no data')
  const expected = request.expected?.kind === 'embeddings' ? request.expected : null
  if (expected !== null && data.length !== expected.inputs) {
    return brokenAnswer(null, `${data.length} embeddings for ${expected.inputs} inputs`)
  }
  const entries = readEntries(data, expected?.encoding ?? 'as-is')
  if (entries === null) return brokenAnswer(null, 'an embedding is not a vector')

  const usage = readInputUsage(value)
  const promptTokens = usage?.promptTokens ?? request.estimatedPromptTokens
  const whole = answer['object'] === 'list' && countsTokens(answer['usage']) && entries === data
  if (whole) return goodAnswer(usage, null)
  const counted = { ...asObject(answer['usage']), prompt_tokens: promptTokens, total_tokens: promptTokens }
  return goodAnswer(usage, { ...answer, object: 'list', data: entries, usage: counted })
}

function countsTokens(usage: unknown): boolean {
  const counts = asObject(usage)
  return typeof counts?.['prompt_tokens'] === 'number' && typeof counts['total_tokens'] === 'number'
}

/** The entries in the order of their inputs; null when one is broken. */
export function inOrder(data: readonly unknown[]): readonly JsonObject[] | null {
  return readEntries(data, 'as-is')
}

/** The entries in order and encoded. Returns the same array when nothing changed, null when an entry is broken. */
function readEntries(data: readonly unknown[], encoding: Encoding): readonly JsonObject[] | null {
  const entries: JsonObject[] = Array.from({ length: data.length })
  let changed = false
  for (const [position, value] of data.entries()) {
    const entry = asObject(value)
    if (entry === null) return null
    const index = entry['index'] ?? position
    if (typeof index !== 'number' || !Number.isInteger(index) || index < 0 || index >= data.length) return null
    if (entries[index] !== undefined) return null
    const embedding = encoded(entry['embedding'], encoding)
    if (embedding === null) return null
    const same = entry['index'] === position && entry['object'] === 'embedding' && embedding === entry['embedding']
    if (!same) changed = true
    entries[index] = same ? entry : { ...entry, object: 'embedding', index, embedding }
  }
  return changed ? entries : (data as readonly JsonObject[])
}

/** The vector in the given encoding; null when it is not a vector. */
export function encoded(embedding: unknown, encoding: Encoding): unknown {
  if (typeof embedding === 'string') return encoding === 'float' ? (decodeVector(embedding) ?? embedding) : embedding
  if (!Array.isArray(embedding)) return encoding === 'as-is' ? (asObject(embedding) ?? null) : null
  if (encoding === 'base64') return encodeVector(embedding)
  return embedding
}
