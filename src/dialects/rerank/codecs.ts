import { put } from '../common/fields.ts'
import { carry } from '../services/fields.ts'
import type { RerankCodec } from './codec.ts'

/** The common protocol of Jina, the hosts of open models and their servers. */
export const commonRerank: RerankCodec = {
  path: (base) => `${base}/rerank`,
  takesObjects: true,
  buildRequest({ model, query, documents, topN, returnDocuments, others }) {
    const body: Record<string, unknown> = { ...others, model, query, documents }
    put(body, 'top_n', topN)
    put(body, 'return_documents', returnDocuments)
    return { body, dropped: [] }
  },
}

/** Version 2 of Cohere's API. It takes texts and returns only indexes. */
export const cohereRerank: RerankCodec = {
  path: (base) => `${base}/v2/rerank`,
  takesObjects: false,
  buildRequest({ model, query, documents, topN, others }) {
    const body: Record<string, unknown> = { model, query, documents }
    put(body, 'top_n', topN)
    const dropped = carry(others, body, { max_tokens_per_doc: 'max_tokens_per_doc', priority: 'priority' })
    return { body, dropped }
  },
}

export const voyageRerank: RerankCodec = {
  path: (base) => `${base}/rerank`,
  takesObjects: false,
  buildRequest({ model, query, documents, topN, returnDocuments, others }) {
    const body: Record<string, unknown> = { model, query, documents }
    put(body, 'top_k', topN)
    put(body, 'return_documents', returnDocuments)
    return { body, dropped: carry(others, body, { truncation: 'truncation' }) }
  },
}

/** Text Embeddings Inference. It serves one model, takes no model name, and returns the whole list. */
export const teiRerank: RerankCodec = {
  path: (base) => `${base}/rerank`,
  takesObjects: false,
  buildRequest({ query, documents, returnDocuments, others }) {
    const body: Record<string, unknown> = { query, texts: documents }
    put(body, 'return_text', returnDocuments)
    return { body, dropped: carry(others, body, { truncate: 'truncate', raw_scores: 'raw_scores' }) }
  },
}
