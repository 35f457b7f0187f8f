import { createHash } from 'node:crypto'
import type { Behaviour } from './behaviour.ts'
import { isRecord, type JsonObject } from './json.ts'
import { BadRequest } from './prompt.ts'
import { countTokens } from './tokens.ts'
import { figure } from './usage-text.ts'

/** A request that is not a conversation, with a buffered answer: embeddings, a ranking, pictures, a video job. */
export interface PlainRequest {
  readonly model: string
  readonly user: string | null
  /** The text that may hold `[[sim …]]`. */
  readonly text: string
  readonly promptTokens: number
  readonly body: JsonObject
}

export interface PlainAnswer {
  readonly body: string | Buffer
  readonly contentType: string
  /** 200 by default. */
  readonly status?: number
  /** Further header lines, each with its line end. */
  readonly headers?: string
  /** Tokens that the ledger counts. */
  readonly promptTokens: number
  readonly completionTokens: number
}

const DEFAULT_DIMENSIONS = 8
const TOKENS_OF_A_PICTURE = 272
/** One transparent pixel. */
const PICTURE = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='

export function jsonAnswer(body: string, promptTokens = 0, completionTokens = 0): PlainAnswer {
  return { body, contentType: 'application/json', promptTokens, completionTokens }
}

/** Throws BadRequest with the provider's own wording. */
export function readPlainRequest(textsOf: (body: JsonObject) => readonly string[], body: JsonObject): PlainRequest {
  const model = body['model']
  if (typeof model !== 'string' || model === '') throw new BadRequest('you must provide a model parameter')
  const texts = textsOf(body)
  return {
    model,
    user: typeof body['user'] === 'string' ? body['user'] : null,
    text: texts[0] ?? '',
    promptTokens: Math.max(1, tokensOf(body['input']) + texts.reduce((sum, text) => sum + countTokens(text), 0)),
    body,
  }
}

/** The same text has the same vector in every run. */
export function embeddingsAnswer(request: PlainRequest, behaviour: Behaviour): PlainAnswer {
  const { body, model, promptTokens } = request
  const asBase64 = (behaviour.vectors ?? body['encoding_format']) === 'base64'
  const dimensions = typeof body['dimensions'] === 'number' ? body['dimensions'] : DEFAULT_DIMENSIONS
  const data = inputsOf(body['input']).map((input, index) => {
    const vector = vectorOf(JSON.stringify(input), dimensions)
    const embedding = asBase64 ? Buffer.from(vector.buffer).toString('base64') : Array.from(vector)
    return { object: 'embedding', index, embedding }
  })
  const text = JSON.stringify({ object: 'list', data, model: behaviour.modelOverride ?? model })
  return jsonAnswer(withUsage(text, behaviour, promptTokens), promptTokens)
}

/** The score of a document is the number of its words that are in the query, divided by the number of words of the query. */
export function rerankAnswer(request: PlainRequest, behaviour: Behaviour): PlainAnswer {
  const { body, model, promptTokens } = request
  const query = words(String(body['query']))
  const documents = Array.isArray(body['documents']) ? body['documents'].map(documentText) : []
  const results = documents.map((document, index) => {
    const found = words(document).filter((word) => query.includes(word)).length
    return { index, relevance_score: found / Math.max(1, query.length) }
  })
  results.sort((a, b) => b.relevance_score - a.relevance_score)
  const wanted = typeof body['top_n'] === 'number' ? body['top_n'] : results.length
  const answer = { model: behaviour.modelOverride ?? model, object: 'list', results: results.slice(0, wanted) }
  return jsonAnswer(withUsage(JSON.stringify(answer), behaviour, promptTokens), promptTokens)
}

/** Sends base64 bytes, as the newer models do, unless the request asks for a URL. */
export function imagesAnswer(request: PlainRequest, behaviour: Behaviour, id: string): PlainAnswer {
  const { body, promptTokens } = request
  const count = typeof body['n'] === 'number' ? body['n'] : 1
  const picture = (_: unknown, index: number): object =>
    body['response_format'] === 'url'
      ? { url: `https://pictures.simulator.invalid/${id}-${index}.png` }
      : { b64_json: PICTURE }
  const completionTokens = behaviour.completionTokens ?? TOKENS_OF_A_PICTURE * count
  const answer = {
    created: Math.floor(Date.now() / 1000),
    data: Array.from({ length: count }, picture),
    output_format: 'png',
    size: body['size'] ?? '1024x1024',
  }
  const mode = behaviour.usage ?? 'normal'
  const total = figure(mode, promptTokens + completionTokens)
  const usage = `"usage":{"input_tokens":${figure(mode, promptTokens)},"output_tokens":${figure(mode, completionTokens)},"total_tokens":${total}}`
  const text = JSON.stringify(answer)
  return jsonAnswer(mode === 'absent' ? text : `${text.slice(0, -1)},${usage}}`, promptTokens, completionTokens)
}

function withUsage(text: string, { usage = 'normal' }: Behaviour, promptTokens: number): string {
  if (usage === 'absent') return text
  const tokens = figure(usage, promptTokens)
  return `${text.slice(0, -1)},"usage":{"prompt_tokens":${tokens},"total_tokens":${tokens}}}`
}

/** Reads a field that must hold a text. */
export function textOf(name: string): (body: JsonObject) => string[] {
  return (body) => {
    const text = body[name]
    if (typeof text === 'string' && text !== '') return [text]
    throw new BadRequest(`Missing required parameter: '${name}'.`, name, 'missing_required_parameter')
  }
}

export function textsOfInput({ input }: JsonObject): string[] {
  if (input === undefined || input === null || input === '') {
    throw new BadRequest("'input' cannot be an empty string", 'input')
  }
  return inputsOf(input).filter((one): one is string => typeof one === 'string')
}

export function textsOfRanking(body: JsonObject): string[] {
  const query = textOf('query')(body)
  const { documents } = body
  if (!Array.isArray(documents) || documents.length === 0) {
    throw new BadRequest('"documents" must be a non-empty string array', 'documents')
  }
  return [...query, ...documents.map(documentText)]
}

/** The inputs of a field that holds a text, an array of tokens, or an array of either. */
function inputsOf(input: unknown): unknown[] {
  return Array.isArray(input) && typeof input[0] !== 'number' ? (input as unknown[]) : [input]
}

function tokensOf(input: unknown): number {
  return Array.isArray(input)
    ? input.reduce((sum: number, one) => sum + (typeof one === 'number' ? 1 : tokensOf(one)), 0)
    : 0
}

function documentText(document: unknown): string {
  if (isRecord(document) && typeof document['text'] === 'string') return document['text']
  return typeof document === 'string' ? document : ''
}

function words(text: string): string[] {
  return text.toLowerCase().match(/\w+/g) ?? []
}

/** A vector of unit length. */
function vectorOf(text: string, dimensions: number): Float32Array {
  const vector = new Float32Array(dimensions)
  for (let i = 0; i < dimensions; i++) {
    const digest = createHash('sha256').update(`${i} ${text}`).digest()
    vector[i] = digest.readInt32LE(0) / 2 ** 31
  }
  const length = Math.hypot(...vector) || 1
  return vector.map((value) => value / length)
}
