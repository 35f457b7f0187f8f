import { ChatCompletionRequest } from '../../shared/endpoints/chat-completions.ts'
import { Embeddings, EmbeddingsRequest } from '../../shared/endpoints/embeddings.ts'
import type { AiAnswer, AiRequest } from '../../shared/core/ai-request.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import { MAX_CALL_MS } from '../../shared/core/tool-call.ts'
import type { Queryable } from '../store/database.ts'
import { failureOf, jsonOf } from './ai-answers.ts'
import { keyAllows } from './callers.ts'
import type { McpCaller } from './callers.ts'
import { ChatReader } from './chat-reader.ts'
import { MODEL_LIST_SCHEMA } from './model-list.ts'
import type { ModelList } from './model-list.ts'
import { payingKey } from './paying-key.ts'
import { failedOutcome, structuredOutcome } from './tool-source.ts'
import type { Json, ObjectSchema, Tool, ToolCall, ToolOutcome, ToolSource } from './tool-source.ts'

export interface ModelToolsOptions {
  readonly database: Queryable
  readonly models: ModelList
  /** Has a front serve a request: with all limits of its key, and a row in the request log. */
  readonly requestAi: (request: AiRequest, signal: AbortSignal) => Promise<AiAnswer>
}

const KEY_ID = {
  type: 'string',
  description:
    'The key that pays, one of yours or issued to you. Default: the only one that may use the model. An API key always pays itself.',
}

const CHAT: Tool = {
  name: 'chat_completion',
  title: 'Ask a model',
  description:
    'Ask a model of the gateway. It runs as a request of one of your keys: with its limits, its budget, and a row in the request log. Progress notifications carry the text as it comes.',
  inputSchema: {
    type: 'object',
    properties: {
      model: plain(ChatCompletionRequest.properties.model),
      messages: {
        type: 'array',
        description: 'The conversation so far.',
        minItems: 1,
        items: {
          type: 'object',
          properties: {
            role: { type: 'string', enum: ['system', 'user', 'assistant'] },
            content: { type: 'string' },
          },
          required: ['role', 'content'],
        },
      },
      max_completion_tokens: { type: 'integer', description: 'Most tokens of the answer.', minimum: 1 },
      temperature: plain(ChatCompletionRequest.properties.temperature),
      top_p: plain(ChatCompletionRequest.properties.top_p),
      stop: plain(ChatCompletionRequest.properties.stop),
      seed: plain(ChatCompletionRequest.properties.seed),
      reasoning_effort: { type: 'string', description: 'How much a reasoning model thinks: low, medium or high.' },
      response_format: { type: 'object', description: 'As in POST /v1/chat/completions.' },
      key_id: KEY_ID,
    },
    required: ['model', 'messages'],
    additionalProperties: false,
  },
  outputSchema: {
    type: 'object',
    properties: {
      id: { type: 'string' },
      model: { type: 'string' },
      content: { type: 'string', description: 'The text of the answer.' },
      finish_reason: { type: ['string', 'null'] },
      usage: {
        type: ['object', 'null'],
        properties: {
          prompt_tokens: { type: 'integer' },
          completion_tokens: { type: 'integer' },
          total_tokens: { type: 'integer' },
        },
      },
      request_id: { type: 'string', description: 'The id of its row in the request log.' },
    },
    required: ['id', 'model', 'content', 'finish_reason', 'usage', 'request_id'],
  },
  annotations: {
    title: 'Ask a model',
    readOnlyHint: false,
    destructiveHint: false,
    idempotentHint: false,
    openWorldHint: true,
  },
}

const EMBEDDING: Tool = {
  name: 'create_embedding',
  title: 'Embed texts',
  description: 'Turn texts into vectors. It runs as a request of one of your keys, as chat_completion does.',
  inputSchema: {
    type: 'object',
    properties: {
      model: plain(EmbeddingsRequest.properties.model),
      input: {
        type: ['string', 'array'],
        description: 'A text, or a list of texts.',
        items: { type: 'string' },
        minItems: 1,
        minLength: 1,
      },
      dimensions: plain(EmbeddingsRequest.properties.dimensions),
      key_id: KEY_ID,
    },
    required: ['model', 'input'],
    additionalProperties: false,
  },
  outputSchema: plain(Embeddings) as unknown as ObjectSchema,
  annotations: {
    title: 'Embed texts',
    readOnlyHint: false,
    destructiveHint: false,
    idempotentHint: true,
    openWorldHint: true,
  },
}

const MODELS: Tool = {
  name: 'list_models',
  title: 'List models',
  description: 'The models that you may ask for, with their limits and prices.',
  inputSchema: {
    type: 'object',
    properties: {
      search: { type: 'string', description: 'A part of the id.' },
      key_id: { type: 'string', description: 'Only models that this key of yours may use.' },
    },
    additionalProperties: false,
  },
  outputSchema: MODEL_LIST_SCHEMA,
  annotations: {
    title: 'List models',
    readOnlyHint: true,
    destructiveHint: false,
    idempotentHint: true,
    openWorldHint: false,
  },
}

const TOOLS = [MODELS, CHAT, EMBEDDING]

/** Tools that use models. AI requests run in a front like those of clients, with the caller's key, address and User-Agent. */
export class ModelTools implements ToolSource {
  readonly #options: ModelToolsOptions

  constructor(options: ModelToolsOptions) {
    this.#options = options
  }

  list(caller: McpCaller): Promise<readonly Tool[]> {
    return Promise.resolve(caller.kind === 'user' ? TOOLS : TOOLS.filter(({ name }) => keyAllows(caller.key, name)))
  }

  call(call: ToolCall): Promise<ToolOutcome> {
    return withDeadline(call.signal, MAX_CALL_MS, (signal) => this.#run({ ...call, signal }))
  }

  async #run(call: ToolCall): Promise<ToolOutcome> {
    switch (call.name) {
      case MODELS.name:
        return this.#models(call)
      case CHAT.name:
        return this.#chat(call)
      case EMBEDDING.name:
        return this.#embedding(call)
      default:
        throw new GatewayError('NOT_FOUND')
    }
  }

  async #models({ caller, input }: ToolCall): Promise<ToolOutcome> {
    const { search, key_id: keyId } = input
    refuseUnknown(MODELS, input)
    const isKeyAsked = caller.kind === 'key' || keyId !== undefined
    const key = isKeyAsked ? await payingKey(this.#options.database, caller, { keyId, model: undefined }) : null
    return structuredOutcome(this.#options.models.list(key?.models ?? null, typeof search === 'string' ? search : ''))
  }

  async #chat({ caller, input, signal, progress }: ToolCall): Promise<ToolOutcome> {
    refuseUnknown(CHAT, input)
    const { key_id: _, ...fields } = input
    const body = { ...fields, stream: true, stream_options: { include_usage: true } }
    const answer = await this.#request(caller, input, { path: '/v1/chat/completions', body, signal })
    const requestId = answer.headers.get('x-request-id') ?? ''
    if (answer.status >= 400) return failureOf(answer)
    const reader = new ChatReader(progress)
    for await (const chunk of answer.body) {
      const error = reader.read(chunk)
      if (error !== null) return failedOutcome(503, { ...error, request_id: requestId })
    }
    const { content, ...rest } = reader.result
    return {
      isError: false,
      content: [{ type: 'text', text: content }],
      structured: { ...rest, content, request_id: requestId },
    }
  }

  async #embedding({ caller, input, signal }: ToolCall): Promise<ToolOutcome> {
    refuseUnknown(EMBEDDING, input)
    const { key_id: _, ...body } = input
    const answer = await this.#request(caller, input, { path: '/v1/embeddings', body, signal })
    if (answer.status >= 400) return failureOf(answer)
    return structuredOutcome(await jsonOf(answer))
  }

  async #request(
    caller: McpCaller,
    { key_id: keyId, model }: Json,
    { path, body, signal }: { readonly path: string; readonly body: Json; readonly signal: AbortSignal },
  ): Promise<AiAnswer> {
    const { digest: keyDigest } = await payingKey(this.#options.database, caller, { keyId, model })
    const { address, userAgent, traceparent } = caller.origin
    const trace = traceparent === undefined ? {} : { traceparent }
    return this.#options.requestAi(
      {
        method: 'POST',
        path,
        headers: { 'content-type': 'application/json', 'user-agent': userAgent, ...trace },
        address,
        keyDigest,
        body: Buffer.from(JSON.stringify(body)),
      },
      signal,
    )
  }
}

/** Runs `work` with a signal that aborts with `signal`, and after `ms`. */
async function withDeadline<Value>(
  signal: AbortSignal,
  ms: number,
  work: (signal: AbortSignal) => Promise<Value>,
): Promise<Value> {
  const ends = new AbortController()
  const end = (): void => {
    ends.abort()
  }
  const late = setTimeout(end, ms).unref()
  signal.addEventListener('abort', end, { once: true })
  if (signal.aborted) end()
  try {
    return await work(ends.signal)
  } finally {
    clearTimeout(late)
    signal.removeEventListener('abort', end)
  }
}

function refuseUnknown({ inputSchema }: Tool, input: Json): void {
  const names = Object.keys(inputSchema.properties ?? {})
  for (const name of Object.keys(input)) {
    if (names.includes(name)) continue
    throw new GatewayError('INVALID_FIELD', { param: `/${name}`, message: 'This tool has no argument of this name.' })
  }
}

/** A copy as it goes over the wire: without the symbols of the schema library. */
function plain(schema: object): Json {
  return JSON.parse(JSON.stringify(schema)) as Json
}
