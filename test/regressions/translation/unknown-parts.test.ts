import { describe, expect, it } from 'vitest'
import type { WireDialect } from '../../../src/shared/core/conversation.ts'
import { GatewayError } from '../../../src/shared/core/errors.ts'
import { translateRequest } from '../../support/translation.ts'
import type { Json } from '../../support/plain-json.ts'

const UPSTREAMS: readonly WireDialect[] = [
  'openai-chat',
  'anthropic-messages',
  'anthropic-vertex',
  'bedrock-invoke',
  'bedrock-converse',
  'cohere-chat',
  'gemini',
]
const PARTS = ['document_url', 'video', 'tool_addition', 'container_upload', 'something_new']

/** A request of the dialect whose user gives `part`. */
function asked(part: Json): Json {
  return { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: [{ type: 'text', text: 'See' }, part] }] }
}

function refusalOf(run: () => unknown): GatewayError {
  try {
    run()
  } catch (cause) {
    if (cause instanceof GatewayError) return cause
    throw cause
  }
  throw new Error('It was taken.')
}

/** Clouds take messages as they are. */
function isSpokenBy(upstream: WireDialect, client: WireDialect): boolean {
  const isCloud = upstream === 'anthropic-vertex' || upstream === 'bedrock-invoke'
  return client === upstream || (client === 'anthropic-messages' && isCloud)
}

/** The same in a request of /v1/responses. */
function askedInResponses(part: Json): Json {
  return { model: 'm', input: [{ role: 'user', content: [{ type: 'input_text', text: 'See' }, part] }] }
}

/** Of a tool's result, which the user's side says too. */
function askedByResult(client: 'openai-chat' | 'anthropic-messages', part: Json): Json {
  const call = { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } }
  const use = { type: 'tool_use', id: 'call_1', name: 'look', input: {} }
  const messages =
    client === 'openai-chat'
      ? [
          { role: 'assistant', tool_calls: [call] },
          { role: 'tool', tool_call_id: 'call_1', content: [part] },
        ]
      : [
          { role: 'assistant', content: [use] },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1', content: [part] }] },
        ]
  return { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'Look' }, ...messages] }
}

describe.each(UPSTREAMS)('a %s upstream', (upstream) => {
  const clients = (['openai-chat', 'anthropic-messages'] as const).filter((client) => !isSpokenBy(upstream, client))

  it.each(PARTS)('is not sent a request without the %s of its user', (type) => {
    for (const client of clients) {
      const { code, param } = refusalOf(() => translateRequest(client, upstream, asked({ type, url: 'x' })))
      expect([code, param]).toEqual(['UNSUPPORTED_FIELD', `/messages/content/${type}`])
    }
  })

  it.each(PARTS)('is not sent a request of responses without the %s of its user', (type) => {
    const { code, param } = refusalOf(() =>
      translateRequest('openai-responses', upstream, askedInResponses({ type, url: 'x' })),
    )
    expect([code, param?.endsWith(`/${type}`)]).toEqual(['UNSUPPORTED_FIELD', true])
  })

  it.each(PARTS)('is not sent the result of a tool without its %s', (type) => {
    for (const client of clients) {
      const { code, param } = refusalOf(() =>
        translateRequest(client, upstream, askedByResult(client, { type, url: 'x' })),
      )
      expect([client, code, param?.endsWith(`/${type}`)]).toEqual([client, 'UNSUPPORTED_FIELD', true])
    }
  })

  it('gets a history without what only another provider reads, and the client is told', () => {
    const history = [
      { role: 'user', content: 'Search' },
      {
        role: 'assistant',
        content: [
          { type: 'web_search_tool_result', content: [] },
          { type: 'text', text: 'Found.' },
        ],
      },
      { role: 'user', content: 'Thanks' },
    ]
    for (const client of clients) {
      const { dropped } = translateRequest(client, upstream, { model: 'm', max_tokens: 9, messages: history })
      expect(dropped).toContain('messages.content.web_search_tool_result')
    }
  })
})

it.each(['openai-chat', 'cohere-chat'] as const)(
  'a %s upstream is not sent instructions without their image',
  (upstream) => {
    const image = { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } }
    const request = { ...asked({ type: 'text', text: 'x' }), system: [image] }
    expect(refusalOf(() => translateRequest('anthropic-messages', upstream, request)).param).toBe(
      '/messages/content/image',
    )
  },
)
