import { compatible, under } from './provider.ts'
import { plainly } from '../services.ts'
import type { KnownProvider } from './provider.ts'

/** A server refuses what the chat template of its model refuses, mostly system messages after the first message. */
const engine = { ...compatible({ takesSystemAnywhere: false }), selfHosted: true } as const

/** Self-hosted servers, at their default addresses. */
export const ENGINES: readonly KnownProvider[] = [
  {
    ...engine,
    id: 'vllm',
    name: 'vLLM',
    prefix: 'VLLM',
    baseUrl: 'http://127.0.0.1:8000/v1',
    services: plainly('embeddings', 'rerank'),
    models: [under('vllm')],
  },
  {
    ...engine,
    id: 'sglang',
    name: 'SGLang',
    prefix: 'SGLANG',
    baseUrl: 'http://127.0.0.1:30000/v1',
    services: plainly('embeddings', 'rerank'),
    models: [under('sglang')],
  },
  {
    ...engine,
    id: 'ollama',
    name: 'Ollama',
    prefix: 'OLLAMA',
    baseUrl: 'http://127.0.0.1:11434/v1',
    services: plainly('embeddings'),
    basePath: '/v1',
    models: [under('ollama')],
  },
  {
    ...engine,
    id: 'llamacpp',
    name: 'llama.cpp',
    prefix: 'LLAMACPP',
    baseUrl: 'http://127.0.0.1:8080/v1',
    services: plainly('embeddings', 'rerank'),
    models: [under('llamacpp')],
  },
  {
    ...engine,
    id: 'lmstudio',
    name: 'LM Studio',
    prefix: 'LMSTUDIO',
    baseUrl: 'http://127.0.0.1:1234/v1',
    services: plainly('embeddings'),
    models: [under('lmstudio')],
  },
  {
    ...engine,
    id: 'localai',
    name: 'LocalAI',
    prefix: 'LOCALAI',
    baseUrl: 'http://127.0.0.1:8080/v1',
    services: plainly('embeddings', 'rerank', 'images'),
    models: [under('localai')],
  },
  {
    ...engine,
    id: 'tgi',
    name: 'Text Generation Inference',
    prefix: 'TGI',
    baseUrl: 'http://127.0.0.1:3000/v1',
    models: [under('tgi')],
  },
  {
    ...engine,
    id: 'mistralrs',
    name: 'mistral.rs',
    prefix: 'MISTRALRS',
    baseUrl: 'http://127.0.0.1:1234/v1',
    services: plainly('embeddings', 'images'),
    models: [under('mistralrs')],
  },
  {
    ...engine,
    id: 'tei',
    name: 'Text Embeddings Inference',
    prefix: 'TEI',
    // Reranking is not below /v1, and takes no name of a model.
    baseUrl: 'http://127.0.0.1:8080/v1',
    services: {
      embeddings: [{ protocol: 'openai-embeddings', maxPerCall: 32 }],
      rerank: [{ protocol: 'tei-rerank', base: '/' }],
    },
    converses: false,
    models: [under('tei')],
  },
]
