import { cohereChat } from '../cohere-chat.ts'
import { gemini } from '../gemini.ts'
import { isRecord, type JsonObject } from '../json.ts'
import { openaiChat } from '../openai-chat.ts'
import { BadRequest } from '../prompt.ts'
import { lean, oneOf, only, texts } from './service.ts'
import type { ForeignService } from './service.ts'

interface Entry {
  readonly embedding: unknown
}

const entriesOf = (answer: JsonObject): readonly Entry[] => answer['data'] as Entry[]

const tokensOf = (answer: JsonObject): unknown => {
  const usage = answer['usage']
  return isRecord(usage) ? usage['total_tokens'] : undefined
}

export const EMBEDDINGS: readonly ForeignService[] = [
  {
    kind: 'embeddings',
    method: 'POST',
    path: /\/voyage\/.*\/embeddings$/,
    wire: openaiChat,
    read(body) {
      only(body, ['input', 'model', 'input_type', 'truncation', 'output_dimension', 'output_dtype', 'encoding_format'])
      oneOf(body['encoding_format'], 'encoding_format', ['base64'])
      oneOf(body['input_type'], 'input_type', ['query', 'document'])
      const input = texts(body['input'], 'input', 1000)
      return lean({
        model: body['model'],
        input,
        dimensions: body['output_dimension'],
        encoding_format: body['encoding_format'],
      })
    },
    write: (answer) => ({ ...answer, usage: lean({ total_tokens: tokensOf(answer) }) }),
  },
  {
    kind: 'embeddings',
    method: 'POST',
    path: /\/jina\/.*\/embeddings$/,
    wire: openaiChat,
    read(body) {
      only(body, ['input', 'model', 'task', 'dimensions', 'embedding_type', 'late_chunking', 'normalized', 'truncate'])
      oneOf(body['embedding_type'], 'embedding_type', ['float', 'base64', 'binary', 'ubinary'])
      const input = texts(body['input'], 'input', 512)
      return lean({
        model: body['model'],
        input,
        dimensions: body['dimensions'],
        encoding_format: body['embedding_type'],
      })
    },
    write: (answer) => answer,
  },
  {
    kind: 'embeddings',
    method: 'POST',
    path: /\/mistral\/.*\/embeddings$/,
    wire: openaiChat,
    read(body) {
      only(body, ['model', 'input', 'metadata', 'output_dimension', 'output_dtype'])
      return lean({ ...body, dimensions: body['output_dimension'], output_dimension: undefined })
    },
    write: (answer) => answer,
  },
  {
    kind: 'embeddings',
    method: 'POST',
    path: /\/v2\/embed$/,
    wire: cohereChat,
    read(body) {
      only(body, ['texts', 'model', 'input_type', 'embedding_types', 'output_dimension', 'truncate', 'max_tokens'])
      if (body['input_type'] === undefined) throw new BadRequest('invalid request: input_type must be provided')
      oneOf(body['input_type'], 'input_type', ['search_document', 'search_query', 'classification', 'clustering'])
      return lean({
        model: body['model'],
        input: texts(body['texts'], 'texts', 96),
        dimensions: body['output_dimension'],
      })
    },
    write: (answer, { body }) => ({
      id: 'simulated',
      texts: body['texts'],
      embeddings: { float: entriesOf(answer).map(({ embedding }) => embedding) },
      meta: {
        api_version: { version: '2' },
        ...(tokensOf(answer) === undefined ? {} : { billed_units: { input_tokens: tokensOf(answer) } }),
      },
      response_type: 'embeddings_by_type',
    }),
  },
  {
    kind: 'embeddings',
    method: 'POST',
    path: /\/models\/([^/:]+):batchEmbedContents$/,
    wire: gemini,
    read(body, { model }) {
      only(body, ['requests'])
      const requests = body['requests']
      if (!Array.isArray(requests) || requests.length === 0) throw new BadRequest('requests is empty')
      if (requests.length > 100) throw new BadRequest('at most 100 requests can be in one batch')
      const dimensions = new Set<unknown>()
      const input = requests.map((request: unknown) => {
        if (!isRecord(request) || request['model'] !== `models/${model}`) {
          throw new BadRequest('the model of a request must be that of the batch')
        }
        only(request, ['model', 'content', 'taskType', 'title', 'outputDimensionality'])
        dimensions.add(request['outputDimensionality'])
        return partOf(request['content'])
      })
      return lean({ model, input, dimensions: [...dimensions][0] })
    },
    write: (answer) => ({ embeddings: entriesOf(answer).map(({ embedding }) => ({ values: embedding })) }),
  },
  {
    kind: 'embeddings',
    method: 'POST',
    path: /\/models\/((?!imagen)[^/:]+):predict$/,
    wire: gemini,
    read(body, { model }) {
      only(body, ['instances', 'parameters'])
      const instances = Array.isArray(body['instances']) ? (body['instances'] as unknown[]) : []
      if (instances.length !== 1) throw new BadRequest('one instance at a time')
      const input = instances.map((one) => (isRecord(one) ? one['content'] : undefined))
      const parameters = isRecord(body['parameters']) ? body['parameters'] : {}
      return lean({ model, input: texts(input, 'instances', 1), dimensions: parameters['outputDimensionality'] })
    },
    write: (answer) => ({
      predictions: entriesOf(answer).map(({ embedding }) => ({
        embeddings: { values: embedding, statistics: lean({ truncated: false, token_count: tokensOf(answer) }) },
      })),
    }),
  },
]

function partOf(content: unknown): string {
  const parts = isRecord(content) ? content['parts'] : null
  const part: unknown = Array.isArray(parts) ? parts[0] : null
  if (!isRecord(part) || typeof part['text'] !== 'string') throw new BadRequest('content is required')
  return part['text']
}

export const RERANKERS: readonly ForeignService[] = [
  {
    kind: 'rerank',
    method: 'POST',
    path: /\/v2\/rerank$/,
    wire: cohereChat,
    read(body) {
      only(body, ['model', 'query', 'documents', 'top_n', 'max_tokens_per_doc', 'priority'])
      texts(body['documents'], 'documents', 1000)
      return body
    },
    write: (answer) => ({
      id: 'simulated',
      results: answer['results'],
      meta: { api_version: { version: '2' }, billed_units: { search_units: 1 } },
    }),
  },
  {
    kind: 'rerank',
    method: 'POST',
    path: /\/voyage\/.*\/rerank$/,
    wire: openaiChat,
    read(body) {
      only(body, ['model', 'query', 'documents', 'top_k', 'return_documents', 'truncation'])
      texts(body['documents'], 'documents', 1000)
      return lean({ ...body, top_n: body['top_k'], top_k: undefined })
    },
    write: (answer, { body }) => ({
      object: 'list',
      data: withDocuments(answer['results'], body['documents'], body['return_documents'] === true, 'document'),
      model: answer['model'],
      usage: lean({ total_tokens: tokensOf(answer) }),
    }),
  },
  {
    kind: 'rerank',
    method: 'POST',
    path: /\/tei\/rerank$/,
    wire: openaiChat,
    read(body) {
      only(body, ['query', 'texts', 'raw_scores', 'return_text', 'truncate', 'truncation_direction'])
      return { model: 'tei', query: body['query'], documents: texts(body['texts'], 'texts', 32) }
    },
    // The answer is an array, which `write` cannot return: `inItsWords` unwraps `array`.
    write: (answer, { body }) => ({
      array: withDocuments(answer['results'], body['texts'], body['return_text'] === true, 'text').map(
        ({ relevance_score: score, ...rest }) => ({ ...rest, score }),
      ),
    }),
  },
]

function withDocuments(results: unknown, documents: unknown, wanted: boolean, name: string): JsonObject[] {
  const all = documents as readonly string[]
  // The service does not sort by score: reverse the sorted results.
  const found = [...(results as JsonObject[])].reverse()
  return wanted ? found.map((result) => ({ ...result, [name]: all[Number(result['index'])] })) : found
}
