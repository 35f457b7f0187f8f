import type { AiAnswer } from '../../../shared/core/ai-request.ts'
import type { ToolServer } from '../../../shared/core/tool-server.ts'
import { jsonOf } from '../ai-answers.ts'
import type { Json, ToolClient } from '../tool-source.ts'
import { isJson } from './tool-definitions.ts'

const CHAT = '/v1/chat/completions'
const MAX_MESSAGES = 100
const DEFAULT_TOKENS = 1_024

/** Has a front serve a request that the key of the call pays. */
type Request = (path: string, body: string, signal: AbortSignal) => Promise<AiAnswer>

/**
 * The one whom a server may ask during a call: its caller's client, where that can answer; for answers of models else the model of the server's
 * settings. Null: nothing.
 */
export function askedClient(server: ToolServer, client: ToolClient | undefined, request: Request): ToolClient | null {
  const { id, samplingModel } = server
  const asked = client?.elicit ?? null
  const elicit: ToolClient['elicit'] = asked === null ? null : (params, signal) => asked(asForm(id, params), signal)
  const own: ToolClient['sample'] =
    samplingModel === null
      ? null
      : (params, signal) => sampled(samplingModel, params, (body) => request(CHAT, JSON.stringify(body), signal))
  const sample = client?.sample ?? own
  return elicit === null && sample === null ? null : { elicit, sample, open: null }
}

/** People see the gateway as the one that asks: the text says who it is. Links are not passed on. */
function asForm(serverId: string, params: Json): Json {
  if (params['mode'] === 'url') throw new Error('this gateway does not pass links on')
  return { ...params, message: `[${serverId}] ${String(params['message'])}` }
}

/** The answer of a model of the gateway, in the form of the protocol. Takes texts alone. */
async function sampled(model: string, params: Json, chat: (body: object) => Promise<AiAnswer>): Promise<Json> {
  const { messages, systemPrompt, maxTokens, temperature, stopSequences } = params
  const given = Array.isArray(messages) ? messages.slice(0, MAX_MESSAGES).map(textMessage) : []
  const system = typeof systemPrompt === 'string' ? [{ role: 'system', content: systemPrompt }] : []
  const answer = await chat({
    model,
    messages: [...system, ...given],
    max_completion_tokens: typeof maxTokens === 'number' ? maxTokens : DEFAULT_TOKENS,
    ...(typeof temperature === 'number' ? { temperature } : {}),
    ...(Array.isArray(stopSequences) && stopSequences.length > 0 ? { stop: stopSequences as unknown[] } : {}),
  })
  const body = await jsonOf(answer)
  if (answer.status >= 400) {
    const { message } = (body['error'] ?? {}) as { readonly message?: string }
    throw new Error(`the model did not answer: ${message ?? `status ${answer.status}`}`)
  }
  const [choice] = body['choices'] as ReadonlyArray<{
    readonly message: { readonly content: string | null }
    readonly finish_reason: string
  }>
  return {
    role: 'assistant',
    model,
    content: { type: 'text', text: choice?.message.content ?? '' },
    stopReason: choice?.finish_reason === 'length' ? 'maxTokens' : 'endTurn',
  }
}

function textMessage(message: unknown): object {
  const { role, content } = isJson(message) ? message : ({} as Json)
  const parts = Array.isArray(content) ? (content as unknown[]) : [content]
  const texts = parts.map((part) => {
    if (isJson(part) && part['type'] === 'text') return String(part['text'])
    throw new Error('this gateway answers with texts alone')
  })
  return { role: role === 'assistant' ? 'assistant' : 'user', content: texts.join('\n') }
}
