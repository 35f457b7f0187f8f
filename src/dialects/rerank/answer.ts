import type { AnswerRequest, BufferedAnswer } from '../../shared/core/dialect.ts'
import { readInputUsage } from '../common/input-usage.ts'
import { asObject, valueAt } from '../common/json-value.ts'
import type { JsonObject } from '../common/json-value.ts'
import { brokenAnswer, goodAnswer } from '../common/whole-answer.ts'

interface RankedDocument {
  readonly index: number
  readonly relevance_score: number
  readonly document?: JsonObject
}

/**
 * Reads a buffered 200 of any service: `results`, `data` (Voyage) or a bare array (TEI), with scores under one of three
 * names. Sorts the results and cuts them to `top_n`. Scores stay unchanged: they compare within one answer only, and have no
 * common range. Throws SyntaxError when it is not JSON.
 */
export function readAnswer(body: Buffer, request: AnswerRequest): BufferedAnswer {
  return readRanking(JSON.parse(body.toString('utf8')), request, null)
}

/** Reads parsed JSON in the same way. @param documents texts to show when the service shows none; null: none */
export function readRanking(
  value: unknown,
  request: AnswerRequest,
  documents: ReadonlyArray<string | null> | null,
): BufferedAnswer {
  const answer = asObject(value)
  const list = Array.isArray(value) ? (value as unknown[]) : (answer?.['results'] ?? answer?.['data'])
  if (answer?.['error'] || !Array.isArray(list)) return brokenAnswer(value, 'no results')
  const expected = request.expected?.kind === 'rerank' ? request.expected : null
  const results = readResults(list, expected?.documents ?? Infinity, expected?.showsDocuments ?? true)
  if (results === null) return brokenAnswer(null, 'a result has no score or no valid index')

  const usage = readInputUsage(value)
  const { id, model, meta } = answer ?? {}
  return goodAnswer(usage, {
    ...(typeof id === 'string' ? { id } : {}),
    ...(typeof model === 'string' ? { model } : {}),
    results: rank(results)
      .slice(0, expected?.topN ?? results.length)
      .map((result) => shown(result, documents)),
    ...(usage === null ? {} : { usage: { prompt_tokens: usage.promptTokens, total_tokens: usage.promptTokens } }),
    // Cohere's clients look here, also for search units.
    ...(asObject(meta) === null ? {} : { meta }),
  })
}

function shown(result: RankedDocument, documents: ReadonlyArray<string | null> | null): RankedDocument {
  const text = documents?.[result.index] ?? null
  return text === null || result.document !== undefined ? result : { ...result, document: { text } }
}

function rank(results: readonly RankedDocument[]): readonly RankedDocument[] {
  return [...results].sort((a, b) => b.relevance_score - a.relevance_score || a.index - b.index)
}

/** Null when a result has no score, or has the index of a document that was not sent or was ranked already. */
function readResults(
  list: readonly unknown[],
  documents: number,
  showsDocuments: boolean,
): readonly RankedDocument[] | null {
  const seen = new Set<number>()
  const results: RankedDocument[] = []
  for (const value of list) {
    const index = valueAt(value, 'index')
    const score = valueAt(value, 'relevance_score') ?? valueAt(value, 'score') ?? valueAt(value, 'relevanceScore')
    if (typeof index !== 'number' || !Number.isInteger(index) || index < 0 || index >= documents) return null
    if (typeof score !== 'number' || seen.has(index)) return null
    seen.add(index)
    const document = showsDocuments ? documentOf(valueAt(value, 'document') ?? valueAt(value, 'text')) : null
    results.push({ index, relevance_score: score, ...(document === null ? {} : { document }) })
  }
  return results
}

/** The document as an object, as most services have it; null for an empty object. */
function documentOf(document: unknown): JsonObject | null {
  if (typeof document === 'string') return { text: document }
  const object = asObject(document)
  return object === null || Object.keys(object).length === 0 ? null : object
}
