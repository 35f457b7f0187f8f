import type { LogDetail } from './log-calls.ts'

const PATHS: Readonly<Record<string, string>> = {
  'chat.completions': '/v1/chat/completions',
  messages: '/v1/messages',
  'messages.count_tokens': '/v1/messages/count_tokens',
  responses: '/v1/responses',
  embeddings: '/v1/embeddings',
  rerank: '/v1/rerank',
  'images.generations': '/v1/images/generations',
  'video.generations': '/v1/video/generations',
}

const BODIES: Readonly<Record<string, object>> = {
  'chat.completions': { messages: [{ role: 'user', content: '…' }] },
  messages: { max_tokens: 1_024, messages: [{ role: 'user', content: '…' }] },
  'messages.count_tokens': { messages: [{ role: 'user', content: '…' }] },
  responses: { input: '…' },
  embeddings: { input: '…' },
  rerank: { query: '…', documents: ['…'] },
  'images.generations': { prompt: '…' },
  'video.generations': { prompt: '…' },
}

/**
 * The request as a command, without its key: that stays in an environment variable. `sent` is its captured body; without one, `…` stands for its
 * content.
 */
export function curlOf(
  { endpoint, model, stream }: Pick<LogDetail, 'endpoint' | 'model' | 'stream'>,
  origin: string,
  sent: string | null = null,
): string {
  const path = PATHS[endpoint] ?? '/v1/models'
  const body = BODIES[endpoint]
  const head = `curl ${origin}${path} \\\n  -H "Authorization: Bearer $SLUICE_API_KEY"`
  if (body === undefined) return head
  const version = endpoint.startsWith('messages') ? ' \\\n  -H "anthropic-version: 2023-06-01"' : ''
  const json = (sent ?? JSON.stringify({ model, ...(stream ? { stream } : {}), ...body })).replaceAll(
    "'",
    String.raw`'\''`,
  )
  return `${head}${version} \\\n  -H "Content-Type: application/json" \\\n  --data-raw '${json}'`
}
