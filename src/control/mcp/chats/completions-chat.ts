import type { Json } from '../tool-source.ts'
import { BrokenRound } from './chat.ts'
import { addUsage, count, isJson, jsonOrNull, list, text } from './json-values.ts'
import type { CallResult, Chat, ChatTerms, ModelCall, RoundEnd, ToldError } from './chat.ts'
import { chosenTool, itemId } from './offered-tools.ts'
import type { OfferedServer, OfferedTool } from './offered-tools.ts'

/** A call whose fragments are still coming. */
interface OpenCall {
  /** `index` on the wire; null when the upstream sends none. */
  readonly key: number | null
  readonly call: Record<string, unknown>
  readonly offered: OfferedTool | null
  /** Its index in the answer to the client, for a call of the client's functions. */
  readonly index: number
  name: string
  input: string
}

/** The members that all chunks of a stream share. */
const HEAD = new Set(['id', 'object', 'created', 'model', 'system_fingerprint', 'service_tier'])

/** Between the texts of two rounds. */
const SEPARATOR = '\n\n'

/** A chat completion whose tools the gateway calls. The texts of its rounds are one text; `mcp_item` and `mcp_items` tell of calls. */
export class CompletionsChat implements Chat {
  readonly path = '/v1/chat/completions'
  readonly isStream: boolean
  readonly model: string
  readonly #body: Json
  readonly #wantsUsage: boolean
  readonly #servers: readonly OfferedServer[]
  readonly #tools: readonly Json[]
  readonly #offered: ReadonlyMap<string, OfferedTool>
  readonly #messages: Json[]
  readonly #items: Json[] = []
  #rounds = 0
  #usage: Json | null = null
  /** `id`, `created` and so on of the first round: those of the answer. */
  #head: Json | null = null
  #text = ''
  #whole: Json = {}
  // Of the round under way.
  #message: Record<string, unknown> = {}
  #calls: OpenCall[] = []
  #ownCalls = 0
  #finish: Json | null = null
  #roundUsage: Json | null = null

  constructor({ body, servers }: ChatTerms) {
    this.#body = body
    this.isStream = body['stream'] === true
    this.model = text(body['model'])
    this.#wantsUsage = jsonOrNull(body['stream_options'])?.['include_usage'] === true
    this.#servers = servers
    const offered = servers.flatMap(({ tools }) => tools)
    this.#offered = new Map(offered.map((one) => [one.functionName, one]))
    this.#tools = [
      ...list(body['tools']).filter(({ type }) => type !== 'mcp'),
      ...offered.map(({ functionName: name, tool: { description, inputSchema: parameters } }) => ({
        type: 'function',
        function: { name, description, parameters },
      })),
    ]
    this.#messages = [...list(body['messages'])]
  }

  get promptTokens(): number {
    return count(this.#usage, 'prompt_tokens')
  }

  get completionTokens(): number {
    return count(this.#usage, 'completion_tokens')
  }

  get cachedTokens(): number {
    return count(this.#usage, 'prompt_tokens_details', 'cached_tokens')
  }

  roundBody(isLast: boolean): Json {
    const isFirst = this.#rounds === 0
    this.#rounds += 1
    this.#message = {}
    this.#calls = []
    this.#ownCalls = 0
    this.#finish = null
    this.#roundUsage = null
    const { tools: _, tool_choice: asked, ...rest } = this.#body
    const chosen = chosenTool(asked, this.#servers)
    const first = chosen === null ? asked : { type: 'function', function: { name: chosen.functionName } }
    const choice = isLast ? 'none' : isFirst ? first : unforced(first)
    return {
      ...rest,
      messages: this.#messages,
      ...(this.isStream ? { stream_options: { ...jsonOrNull(rest['stream_options']), include_usage: true } } : {}),
      ...(this.#tools.length === 0 ? {} : { tools: this.#tools }),
      ...choiceMember(choice, this.#tools.length),
    }
  }

  readEvent(data: string): string {
    if (data === '[DONE]') return ''
    const chunk = JSON.parse(data) as Json
    const { usage, error } = chunk
    if (error !== undefined && error !== null) throw new BrokenRound(event({ error }))
    const choices = list(chunk['choices'])
    // Azure's first chunk has no choices and no id.
    if (choices.length > 0) this.#head ??= headOf(chunk)
    // Upstreams that send several usages count from the start each time, so the last one wins.
    this.#roundUsage = jsonOrNull(usage) ?? this.#roundUsage
    return choices.map((choice) => this.#choice(choice)).join('')
  }

  readWhole(answer: Json): void {
    const { choices, usage, ...head } = answer
    this.#head ??= head
    this.#roundUsage = jsonOrNull(usage)
    const [choice = {}] = list(choices)
    this.#finish = choice
    const { tool_calls: calls, ...message } = jsonOrNull(choice['message']) ?? {}
    this.#message = { ...message, content: message['content'] ?? null }
    for (const [index, call] of list(calls).entries()) this.#fragment({ ...call, index }, false)
    this.#text = joined(this.#text, text(message['content']))
  }

  endRound(isLast: boolean): RoundEnd {
    this.#usage = addUsage(this.#usage, this.#roundUsage)
    const calls = this.#calls.flatMap(({ call, offered, input }): ModelCall[] =>
      offered === null ? [] : [{ callId: text(call['id']), itemId: itemId('mcp'), offered, input }],
    )
    if (calls.length === 0 || this.#ownCalls > 0 || isLast) return { calls: [] }
    const made = this.#calls.map(({ call, name, input }) => ({
      ...call,
      type: 'function',
      function: { name, arguments: input },
    }))
    this.#messages.push({ content: null, ...this.#message, role: 'assistant', tool_calls: made })
    return { calls }
  }

  callBegins(call: ModelCall): string {
    return this.#tell(itemOf(call, null))
  }

  callEnds(call: ModelCall, result: CallResult): string {
    const item = itemOf(call, result)
    this.#items.push(item)
    this.#messages.push({ role: 'tool', tool_call_id: call.callId, content: result.output ?? result.error })
    return this.#tell(item)
  }

  end(): string {
    if (!this.isStream) {
      this.#whole = this.#answer()
      return ''
    }
    const { delta, index = 0, ...rest } = this.#finish ?? {}
    const last = this.#chunk([{ index, delta: delta ?? {}, ...rest, finish_reason: this.#finishReason() }])
    const usage = this.#wantsUsage ? event({ ...this.#head, choices: [], usage: this.#usage }) : ''
    return `${last}${usage}data: [DONE]\n\n`
  }

  whole(): Json {
    return this.#whole
  }

  fail({ type, message, code, param }: ToldError, requestId: string): string {
    return event({ error: { type, message, code, param, request_id: requestId } })
  }

  #choice({ delta: sent, finish_reason: reason, ...rest }: Json): string {
    const { tool_calls: fragments, role, ...delta } = jsonOrNull(sent) ?? {}
    const forwarded: Record<string, unknown> = {}
    if (role !== undefined && this.#rounds === 1 && this.#message['role'] === undefined) forwarded['role'] = role
    if (role !== undefined) this.#message['role'] = role
    for (const [name, value] of Object.entries(delta)) {
      const isNews = name !== 'content' || (value !== '' && value !== null)
      if (isNews) forwarded[name] = this.#member(name, value)
      else if (this.#rounds === 1) forwarded[name] = value
    }
    const sentCalls = list(fragments)
    const calls = sentCalls.flatMap((fragment) => this.#fragment(fragment, sentCalls.length > 1))
    if (calls.length > 0) forwarded['tool_calls'] = calls
    // Only the end of the round tells whether it is the last one.
    if (reason !== null && reason !== undefined) this.#finish = { ...rest, finish_reason: reason }
    if (Object.keys(forwarded).length === 0) return ''
    return this.#chunk([{ ...rest, delta: forwarded, finish_reason: null }])
  }

  /** Adds a part of a member to the message of the round. Returns what the client gets. */
  #member(name: string, value: unknown): unknown {
    const before = this.#message[name]
    if (value === null && before !== undefined) return value
    if (typeof value !== 'string') {
      this.#message[name] =
        Array.isArray(before) && Array.isArray(value) ? [...(before as unknown[]), ...(value as unknown[])] : value
      return value
    }
    this.#message[name] = text(before) + value
    if (name !== 'content') return value
    const isNext = text(before) === '' && this.#text !== ''
    this.#text += isNext ? SEPARATOR + value : value
    return isNext ? SEPARATOR + value : value
  }

  /** Returns what the client gets of it: nothing of a call that the gateway makes. */
  #fragment({ index, function: sent, ...call }: Json, isOneOfMany: boolean): Json[] {
    const key = typeof index === 'number' ? index : null
    const { name, arguments: input, ...more } = jsonOrNull(sent) ?? {}
    const part = typeof input === 'string' ? input : isJson(input) ? JSON.stringify(input) : ''
    const known = this.#find(key, text(call['id']), text(name), isOneOfMany)
    if (known === undefined) {
      const offered = this.#offered.get(text(name)) ?? null
      this.#calls.push({ key, call, offered, index: this.#ownCalls, name: text(name), input: part })
      if (offered !== null) return []
      this.#ownCalls += 1
      return [{ index: this.#ownCalls - 1, ...call, ...(sent === undefined ? {} : { function: sent }) }]
    }
    known.input += part
    for (const [member, value] of Object.entries(call)) if (value !== null) known.call[member] = value
    if (known.offered !== null) return []
    return [{ index: known.index, ...call, function: { ...more, arguments: part } }]
  }

  /**
   * Returns the call that a fragment continues; undefined: the fragment begins one. Follows `ChatDecoder.#find` of `dialects`, which this folder
   * may not import: an index finds its call, unless the id is another. Without an index, a new id begins a call; so does a name when calls
   * come whole, or when the last call is complete.
   */
  #find(key: number | null, id: string, name: string, isOneOfMany: boolean): OpenCall | undefined {
    if (key !== null) {
      const known = this.#calls.findLast((call) => call.key === key)
      const knownId = text(known?.call['id'])
      return name !== '' && id !== '' && knownId !== '' && id !== knownId ? undefined : known
    }
    if (id !== '') return this.#calls.findLast(({ call }) => call['id'] === id)
    const last = this.#calls.at(-1)
    return last !== undefined && name !== '' && (isOneOfMany || isObject(last.input)) ? undefined : last
  }

  #tell(item: Json): string {
    if (!this.isStream) return ''
    return event({ ...this.#head, choices: [{ index: 0, delta: {}, finish_reason: null }], mcp_item: item })
  }

  #chunk(choices: readonly Json[]): string {
    return event({ ...this.#head, choices, ...(this.#wantsUsage ? { usage: null } : {}) })
  }

  /** A model that calls tools of servers in the last round gets no answer to these calls. */
  #finishReason(): unknown {
    const reason = this.#finish?.['finish_reason'] ?? null
    return reason === 'tool_calls' && this.#ownCalls === 0 ? 'stop' : reason
  }

  #answer(): Json {
    const own = this.#calls.filter(({ offered }) => offered === null)
    const calls = own.map(({ call, name, input }) => ({ ...call, function: { name, arguments: input } }))
    const content = this.#text === '' ? (this.#message['content'] ?? null) : this.#text
    const message = { ...this.#message, content, ...(calls.length === 0 ? {} : { tool_calls: calls }) }
    const choice = { ...this.#finish, message, finish_reason: this.#finishReason() }
    const usage = this.#usage === null ? {} : { usage: this.#usage }
    return { ...this.#head, choices: [choice], ...usage, mcp_items: this.#items }
  }
}

/** A call as the client sees it, in the shape that the responses API has for it. @param result null: it has begun */
function itemOf({ itemId: id, offered, input }: ModelCall, result: CallResult | null): Json {
  return {
    id,
    type: 'mcp_call',
    server_label: offered.server,
    name: offered.tool.name,
    arguments: input,
    output: result?.output ?? null,
    error: result?.error ?? null,
    status: result === null ? 'in_progress' : result.error === null ? 'completed' : 'failed',
  }
}

function headOf(chunk: Json): Json {
  return Object.fromEntries(Object.entries(chunk).filter(([name]) => HEAD.has(name)))
}

/** After the first round, the model is free to answer. */
function unforced(choice: unknown): unknown {
  return choice === 'required' || (isJson(choice) && choice['type'] !== 'allowed_tools') ? 'auto' : choice
}

function choiceMember(choice: unknown, tools: number): Json {
  return choice === undefined || choice === null || tools === 0 ? {} : { tool_choice: choice }
}

function joined(before: string, next: string): string {
  return before === '' || next === '' ? before + next : before + SEPARATOR + next
}

/** Whether the input of a call is complete. */
function isObject(input: string): boolean {
  try {
    return isJson(JSON.parse(input))
  } catch {
    return false
  }
}

function event(value: Json): string {
  return `data: ${JSON.stringify(value)}\n\n`
}
