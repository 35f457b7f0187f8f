import type { UpstreamDialectName } from '../../src/shared/core/endpoint.ts'
import type { Behaviour } from '../../src/simulator/behaviour.ts'
import type { RawPost } from './raw-client.ts'

export interface SteeredRequest {
  readonly apiKey: string
  readonly dialect: UpstreamDialectName
  readonly model: string
  /** Sent to the simulator as the user, and to the gateway as the client's request id. */
  readonly user: string
  readonly stream: boolean
  readonly wantsUsage?: boolean
  /** The simulator's behaviour for the request. */
  readonly behaviour: Behaviour
}

/** A request that carries the simulator's behaviour. */
export function steeredRequest(request: SteeredRequest): RawPost {
  const { apiKey, dialect, model, user, stream, behaviour } = request
  const messages = [{ role: 'user', content: `[[sim ${JSON.stringify(behaviour)}]]` }]
  const headers = {
    authorization: `Bearer ${apiKey}`,
    'content-type': 'application/json',
    'x-client-request-id': user,
  }
  if (dialect === 'openai-chat') {
    const stream_options = request.wantsUsage === true ? { include_usage: true } : undefined
    return {
      path: '/v1/chat/completions',
      headers,
      body: JSON.stringify({ model, user, stream, stream_options, messages }),
    }
  }
  return {
    path: '/v1/messages',
    headers: { ...headers, 'anthropic-version': '2023-06-01' },
    body: JSON.stringify({ model, max_tokens: 100_000_000, metadata: { user_id: user }, stream, messages }),
  }
}
