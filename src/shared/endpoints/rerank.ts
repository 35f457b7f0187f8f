import { Type } from 'typebox'
import type { Static } from 'typebox'
import { nullable } from '../api/nullable.ts'
import { PLAIN_FIELDS, serviceEndpoint } from './declare.ts'

/** POST /v1/rerank. A null is the same as leaving the field out; fields not named here pass through. */
export const RerankRequest = Type.Object(
  {
    model: Type.String({ description: 'Reranker model id.', minLength: 1, maxLength: 256 }),
    query: Type.String({ description: 'The text that the documents are compared with.', minLength: 1 }),
    documents: Type.Array(
      Type.Unsafe<string | object>({ type: ['string', 'object'], description: 'A text, or an object with a `text`.' }),
      { description: 'Candidates.', minItems: 1 },
    ),
    top_n: Type.Optional(
      nullable(Type.Integer({ description: 'Number of results wanted; all by default.', minimum: 1 })),
    ),
    return_documents: Type.Optional(
      nullable(Type.Boolean({ description: 'Whether results hold their documents, where the upstream supports it.' })),
    ),
  },
  { description: 'A rerank request.' },
)
export type RerankRequest = Static<typeof RerankRequest>

export const Ranking = Type.Object(
  {
    id: Type.Optional(Type.String()),
    model: Type.Optional(Type.String({ description: 'Model id.' })),
    results: Type.Array(
      Type.Object({
        index: Type.Integer({ description: 'Position in the documents.', minimum: 0 }),
        relevance_score: Type.Number({ description: 'Comparable only within one answer; it has no fixed range.' }),
        document: Type.Optional(Type.Object({}, { description: 'The document as the upstream returned it.' })),
      }),
      { description: 'By descending score.' },
    ),
    usage: Type.Optional(Type.Object({ prompt_tokens: Type.Integer(), total_tokens: Type.Integer() })),
    meta: Type.Optional(Type.Object({}, { description: 'Other counts of the upstream, such as search units.' })),
  },
  { description: 'Documents by relevance.' },
)
export type Ranking = Static<typeof Ranking>

export const rerank = serviceEndpoint('rerank', {
  operation: 'rerank',
  name: 'rerank',
  summary: 'Order documents by how well they answer a query',
  body: RerankRequest,
  example: { model: 'sim-rerank', query: 'What is a sluice?', documents: ['A gate for water.', 'A kind of bread.'] },
  answer: Ranking,
  fields: (request) => ({
    ...PLAIN_FIELDS,
    model: request.model,
    expected: {
      kind: 'rerank',
      documents: request.documents.length,
      topN: request.top_n ?? null,
      showsDocuments: request.return_documents ?? true,
      wantsDocuments: request.return_documents ?? false,
    },
  }),
})
