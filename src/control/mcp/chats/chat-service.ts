import { randomBytes } from 'node:crypto'
import type { AiAnswer, AiRequest } from '../../../shared/core/ai-request.ts'
import { errorFields, GatewayError } from '../../../shared/core/errors.ts'
import { costMicro } from '../../../shared/core/pricing.ts'
import { connectorServersOf } from '../../../shared/endpoints/mcp-connector.ts'
import { serversOf } from '../../../shared/endpoints/named-servers.ts'
import type { Seal } from '../../../shared/runtime/seal.ts'
import type { ToolChatsConfig } from '../../../shared/config/shape.ts'
import type { ManagementRequest, ManagementResponse } from '../../management/web.ts'
import type { KeyCaller, McpCallers } from '../callers.ts'
import type { ModelList } from '../model-list.ts'
import type { Json } from '../tool-source.ts'
import type { Tools } from '../tools.ts'
import { Approvals } from './approvals.ts'
import { BrokenRound } from './chat.ts'
import { isJson, list, text } from './json-values.ts'
import type { Chat, ChatTerms, ToldError } from './chat.ts'
import { bytesOf, ChatLoop, RefusedRound } from './chat-loop.ts'
import { CompletionsChat } from './completions-chat.ts'
import { MessagesChat, messagesError } from './messages-chat.ts'
import { chosenTool, offerTools } from './offered-tools.ts'
import { ResponsesChat } from './responses-chat.ts'

export interface ChatServiceOptions {
  readonly bounds: ToolChatsConfig
  readonly callers: McpCallers
  readonly tools: Tools
  readonly models: ModelList
  /** Seals the ids of approval requests. */
  readonly approvals: Seal
  /** Has a front serve a request: with all limits of its key, and a row in the request log. */
  readonly requestAi: (request: AiRequest, signal: AbortSignal) => Promise<AiAnswer>
  readonly onFault: (cause: unknown) => void
}

/** Headers of the client that its rounds do not have: its credential, and what is about its connection and its body. */
const NOT_PASSED = new Set([
  'accept-encoding',
  'api-key',
  'authorization',
  'connection',
  'content-encoding',
  'content-length',
  'cookie',
  'host',
  'idempotency-key',
  'transfer-encoding',
  'x-api-key',
])
/** Ends the path of a request that counts the tokens of a chat: it asks once, and calls nothing. */
const COUNT = '/count_tokens'
/** Ends the name of the header with the client's flags, in the messages protocol. */
const BETA = '-beta'
/** Headers of the first round's answer that are not about the whole answer. */
const NOT_SHOWN = new Set(['content-length', 'server-timing', 'transfer-encoding'])

/** Serves chats that name tool servers of the gateway. */
export class ChatService {
  readonly #options: ChatServiceOptions

  constructor(options: ChatServiceOptions) {
    this.#options = options
  }

  async serve(request: ManagementRequest): Promise<ManagementResponse> {
    const time = new ChatTime(request.signal, this.#options.bounds.maxMs)
    let isHandedOn = false
    try {
      const { chat, loop, ask } = await this.#prepare(request, time.signal)
      if (request.path.endsWith(COUNT)) return await count(await ask(`${chat.path}${COUNT}`, chat.roundBody(false)))
      const first = await loop.begin()
      const headers = [...first.headers].filter(([name]) => !NOT_SHOWN.has(name))
      if (chat.isStream) {
        isHandedOn = true
        return { status: first.status, headers, body: this.#stream(request, { chat, loop, first, time }) }
      }
      const parts = loop.run(first)
      while ((await parts.next()).done !== true);
      return { status: first.status, headers, body: Buffer.from(JSON.stringify(chat.whole())) }
    } catch (cause) {
      return await this.#refusal(request, time, cause)
    } finally {
      if (!isHandedOn) time.end()
    }
  }

  async #prepare({ path, headers, address, body: bytes }: ManagementRequest, signal: AbortSignal) {
    const { bounds, callers, tools, models, requestAi } = this.#options
    const body = JSON.parse(bytes.toString('utf8')) as Json
    const identified = await callers.identify(headers, address)
    if (identified.kind !== 'key') throw new GatewayError('KEY_MISSING')
    const traceparent = headers['traceparent'] ?? newTrace()
    const caller = { ...identified, origin: { ...identified.origin, traceparent } }
    const asked = list(body['tools'])
    const isOfMessages = isMessagesPath(path)
    const servers = offerTools(
      isOfMessages ? connectorServersOf(body) : serversOf(asked, path.endsWith('/responses')),
      {
        tools: await tools.listByServer(caller),
        taken: new Set(asked.flatMap(functionNames)),
        maxTools: bounds.maxTools,
      },
    )
    if (!isOfMessages) chosenTool(body['tool_choice'], servers)
    const chat = chatOf(path, { body, servers, approvals: new Approvals(this.#options.approvals, caller.subject) })
    const prices = bounds.maxCostMicro === null ? null : models.pricesOf(chat.model)
    const ask = (to: string, round: Json): Promise<AiAnswer> =>
      requestAi(roundRequest(caller, headers, to, round), signal)
    const loop = new ChatLoop({
      chat,
      bounds: { ...bounds, maxCalls: wholeNumber(body['max_tool_calls']) },
      isSpent: () => {
        if (prices === null || bounds.maxCostMicro === null) return false
        const { promptTokens, completionTokens, cachedTokens } = chat
        const usage = { promptTokens, completionTokens, cachedTokens, cacheWriteTokens: 0, reasoningTokens: 0 }
        return costMicro(usage, prices) >= bounds.maxCostMicro
      },
      request: ask,
      callTool: (call) => tools.call({ ...call, caller, signal, progress: null }),
      signal,
    })
    return { chat, loop, ask }
  }

  async *#stream(
    request: ManagementRequest,
    { chat, loop, first, time }: { chat: Chat; loop: ChatLoop; first: AiAnswer; time: ChatTime },
  ): AsyncGenerator<Buffer> {
    try {
      for await (const part of loop.run(first)) if (part !== '') yield Buffer.from(part)
    } catch (cause) {
      if (request.signal.aborted) return
      if (cause instanceof BrokenRound) yield Buffer.from(cause.text)
      else yield Buffer.from(chat.fail(await this.#toldError(time, cause), request.requestId))
    } finally {
      time.end()
    }
  }

  async #refusal(request: ManagementRequest, time: ChatTime, cause: unknown): Promise<ManagementResponse> {
    if (cause instanceof RefusedRound) {
      const { answer, isFirst } = cause
      const headers = [...answer.headers].filter(([name]) => !NOT_SHOWN.has(name))
      return { status: answer.status, headers: isFirst ? headers : final(headers), body: await bytesOf(answer) }
    }
    const error = this.#errorOf(time, cause)
    const isOfMessages = isMessagesPath(request.path)
    const headers: ReadonlyArray<readonly [string, string]> = [
      ['Content-Type', 'application/json'],
      ['X-Request-Id', request.requestId],
      ...(isOfMessages ? [['request-id', request.requestId] as const] : []),
      ...errorFields(error),
    ]
    const told = toldOf(error)
    const body = isOfMessages
      ? messagesError(told, request.requestId)
      : { error: { ...told, request_id: request.requestId } }
    const { status } = error
    return { status, headers: status < 500 ? headers : final(headers), body: Buffer.from(JSON.stringify(body)) }
  }

  #errorOf(time: ChatTime, cause: unknown): GatewayError {
    if (time.isOver) {
      const message = `The chat and its tools took longer than ${this.#options.bounds.maxMs} ms.`
      return new GatewayError('UPSTREAM_TIMEOUT', { message })
    }
    const error = GatewayError.from(cause)
    if (error.code === 'INTERNAL') this.#options.onFault(cause)
    return error
  }

  /** The error of a round that a front has refused is told as it is. */
  async #toldError(time: ChatTime, cause: unknown): Promise<ToldError> {
    if (!(cause instanceof RefusedRound) || time.isOver) return toldOf(this.#errorOf(time, cause))
    const { error } = JSON.parse((await bytesOf(cause.answer)).toString('utf8')) as { readonly error?: Json }
    const { type, message, code, param } = error ?? {}
    return {
      type: text(type),
      message: text(message),
      code: text(code),
      param: typeof param === 'string' ? param : null,
    }
  }
}

/** One signal for a chat: aborted when its client has left, and when its time is over. */
class ChatTime {
  readonly #controller = new AbortController()
  readonly #client: AbortSignal
  readonly #leave = (): void => {
    this.#controller.abort()
  }
  readonly #timer: NodeJS.Timeout
  isOver = false

  constructor(client: AbortSignal, maxMs: number) {
    this.#client = client
    this.#timer = setTimeout(() => {
      this.isOver = true
      this.#controller.abort()
    }, maxMs)
    client.addEventListener('abort', this.#leave, { once: true })
    if (client.aborted) this.#leave()
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Ends what is still under way, too. */
  end(): void {
    clearTimeout(this.#timer)
    this.#client.removeEventListener('abort', this.#leave)
    this.#controller.abort()
  }
}

function isMessagesPath(path: string): boolean {
  return path.endsWith('/messages') || path.endsWith(COUNT)
}

function chatOf(path: string, terms: ChatTerms): Chat {
  if (isMessagesPath(path)) return new MessagesChat(terms)
  return path.endsWith('/responses') ? new ResponsesChat(terms) : new CompletionsChat(terms)
}

async function count(answer: AiAnswer): Promise<ManagementResponse> {
  if (answer.status >= 400) throw new RefusedRound(answer, true)
  const headers = [...answer.headers].filter(([name]) => !NOT_SHOWN.has(name))
  return { status: answer.status, headers, body: await bytesOf(answer) }
}

function toldOf({ type, message, clientCode: code, param }: GatewayError): ToldError {
  return { type, message, code, param }
}

/** A trace for a client that has none: the rows of all rounds and calls have its id. */
function newTrace(): string {
  const [trace, span] = [randomBytes(16).toString('hex'), randomBytes(8).toString('hex')]
  return `00-${trace}-${span}-00`
}

function roundRequest(
  { key, origin: { address, traceparent } }: KeyCaller,
  sent: ManagementRequest['headers'],
  path: string,
  body: Json,
): AiRequest {
  const passed = Object.entries(sent).flatMap(([name, value]) => {
    if (NOT_PASSED.has(name)) return []
    return [[name, name.endsWith(BETA) ? withoutConnector(value) : value] as const]
  })
  return {
    method: 'POST',
    path,
    headers: { ...Object.fromEntries(passed), 'content-type': 'application/json', traceparent },
    address,
    keyDigest: key.digest,
    body: Buffer.from(JSON.stringify(body)),
  }
}

/** Clients must not repeat the request: tools have been called. */
function final(headers: ReadonlyArray<readonly [string, string]>): ReadonlyArray<readonly [string, string]> {
  return [...headers.filter(([name]) => name.toLowerCase() !== 'retry-after'), ['x-should-retry', 'false']]
}

/** The flags of the messages protocol without that of its MCP connector: an upstream gets no servers. */
function withoutConnector(flags = ''): string | undefined {
  const left = flags.split(',').filter((flag) => !flag.trim().startsWith('mcp-client-'))
  return left.length === 0 ? undefined : left.join(',')
}

function functionNames({ type, name, function: of }: Json): string[] {
  if (type === 'mcp') return []
  return [name, isJson(of) ? of['name'] : undefined].filter((one): one is string => typeof one === 'string')
}

function wholeNumber(value: unknown): number | null {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 ? value : null
}
