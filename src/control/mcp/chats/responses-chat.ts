import type { Json } from '../tool-source.ts'
import { BrokenRound } from './chat.ts'
import { addUsage, count, isJson, jsonOrNull, list, text } from './json-values.ts'
import type { Approvals } from './approvals.ts'
import type { ApprovedCalls, CallResult, Chat, ChatTerms, ModelCall, RoundEnd, ToldError } from './chat.ts'
import { chosenTool, itemId } from './offered-tools.ts'
import type { OfferedServer, OfferedTool } from './offered-tools.ts'
import { outputOf, readInput } from './responses-input.ts'
import type { ReadInput } from './responses-input.ts'

/** Events that end a response. */
const ENDS = new Set(['response.completed', 'response.incomplete', 'response.failed'])

/**
 * A response whose tools the gateway calls, with the items and events that the responses API has for it:
 * https://platform.openai.com/docs/api-reference/responses-streaming (mcp_list_tools, mcp_call, mcp_approval_request).
 */
export class ResponsesChat implements Chat {
  readonly path = '/v1/responses'
  readonly isStream: boolean
  readonly model: string
  readonly #body: Json
  readonly #servers: readonly OfferedServer[]
  readonly #offered: ReadonlyMap<string, OfferedTool>
  readonly #tools: readonly Json[]
  readonly #input: ReadInput
  readonly #approvals: Approvals
  /** Approved calls with their results, until the client is told. */
  #approved: Array<readonly [ModelCall, CallResult]> = []
  /** Of the answer to the client; an item that has begun has its place. */
  readonly #output: Json[] = []
  readonly #places = new Map<string, number>()
  #rounds = 0
  #usage: Json | null = null
  /** The response of the first round, as it began: its members are those of the answer. */
  #first: Json | null = null
  /** The response of the last round. */
  #last: Json = {}
  #sequence = 0
  // Of the round under way.
  #items: Json[] = []
  #calls: ModelCall[] = []
  #ownCalls = 0
  /** By the index of an item in the round: its index in the answer; null for a call that the gateway makes. */
  #indexes = new Map<number, number | null>()

  constructor({ body, servers, approvals }: ChatTerms) {
    this.#body = body
    this.isStream = body['stream'] === true
    this.model = text(body['model'])
    this.#servers = servers
    const offered = servers.flatMap(({ tools }) => tools)
    this.#offered = new Map(offered.map((one) => [one.functionName, one]))
    this.#tools = [
      ...list(body['tools']).filter(({ type }) => type !== 'mcp'),
      ...offered.map(({ functionName: name, tool: { description, inputSchema: parameters } }) => ({
        type: 'function',
        name,
        description,
        parameters,
        strict: false,
      })),
    ]
    this.#input = readInput(body['input'], offered, approvals)
    this.#approvals = approvals
  }

  get approved(): ApprovedCalls {
    return {
      calls: this.#input.approved,
      ends: (call, result) => {
        this.#input.answer(call.callId, result)
        this.#approved.push([call, result])
      },
    }
  }

  get promptTokens(): number {
    return count(this.#usage, 'input_tokens')
  }

  get completionTokens(): number {
    return count(this.#usage, 'output_tokens')
  }

  get cachedTokens(): number {
    return count(this.#usage, 'input_tokens_details', 'cached_tokens')
  }

  roundBody(isLast: boolean): Json {
    const isFirst = this.#rounds === 0
    this.#rounds += 1
    this.#items = []
    this.#calls = []
    this.#ownCalls = 0
    this.#indexes = new Map()
    const { tools: _, tool_choice: asked, ...rest } = this.#body
    const chosen = chosenTool(asked, this.#servers)
    const first = chosen === null ? asked : { type: 'function', name: chosen.functionName }
    const choice = isLast ? 'none' : isFirst ? first : unforced(first)
    const isChoice = choice !== undefined && choice !== null && this.#tools.length > 0
    return {
      ...rest,
      input: this.#input.items,
      ...(this.#tools.length === 0 ? {} : { tools: this.#tools }),
      ...(isChoice ? { tool_choice: choice } : {}),
    }
  }

  readEvent(data: string): string {
    const sent = JSON.parse(data) as Json
    const type = text(sent['type'])
    if (type === 'response.created' || type === 'response.in_progress') return this.#begin(type, sent)
    if (type === 'error') throw new BrokenRound(this.#event(sent) + this.#failed(jsonOrNull(sent['error']) ?? sent))
    if (ENDS.has(type)) {
      this.#take(jsonOrNull(sent['response']) ?? {})
      if (type === 'response.failed') throw new BrokenRound(this.#failed(jsonOrNull(this.#last['error']) ?? {}))
      return ''
    }
    if (type === 'response.output_item.added') this.#place(sent)
    const index = this.#indexes.get(Number(sent['output_index']))
    const item = jsonOrNull(sent['item'])
    if (type === 'response.output_item.done' && item !== null) this.#done(item, index ?? null)
    if (index === null) return ''
    return this.#event(index === undefined ? sent : { ...sent, output_index: index })
  }

  readWhole(answer: Json): void {
    this.#first ??= answer
    this.#open()
    this.#take(answer)
    for (const item of list(answer['output'])) {
      const isCall = this.#offeredBy(item) !== null
      if (!isCall) this.#output.push(item)
      this.#done(item, isCall ? null : this.#output.length - 1)
    }
  }

  endRound(isLast: boolean): RoundEnd {
    if (this.#calls.length === 0 || this.#ownCalls > 0 || isLast) return { calls: [] }
    this.#input.items.push(...this.#items)
    const asking = this.#calls.filter(({ offered }) => offered.needsApproval)
    if (asking.length === 0) return { calls: this.#calls }
    const calls = this.#calls.filter(({ offered }) => !offered.needsApproval)
    return { calls, text: asking.map((call) => this.#ask(call)).join(''), isPaused: true }
  }

  callBegins(call: ModelCall): string {
    const index = this.#output.length
    this.#places.set(call.itemId, index)
    this.#output.push(itemOf(call, null))
    const place = { item_id: call.itemId, output_index: index }
    return this.#events(
      ['response.output_item.added', { output_index: index, item: { ...itemOf(call, null), arguments: '' } }],
      ['response.mcp_call.in_progress', place],
      ['response.mcp_call_arguments.delta', { ...place, delta: call.input }],
      ['response.mcp_call_arguments.done', { ...place, arguments: call.input }],
    )
  }

  callEnds(call: ModelCall, result: CallResult): string {
    const index = this.#places.get(call.itemId) ?? 0
    const item = itemOf(call, result)
    this.#output[index] = item
    if (call.approval === undefined) this.#input.items.push(outputOf(call.callId, result.output ?? result.error))
    const place = { item_id: call.itemId, output_index: index }
    return this.#events(
      [result.error === null ? 'response.mcp_call.completed' : 'response.mcp_call.failed', place],
      ['response.output_item.done', { output_index: index, item }],
    )
  }

  end(): string {
    const type = `response.${text(this.#last['status']) || 'completed'}`
    return this.isStream ? this.#event({ type, response: this.whole() }) : ''
  }

  whole(): Json {
    return { ...this.#asked({ ...this.#last, ...this.#identity() }), output: this.#output, usage: this.#usage }
  }

  fail({ type, message, code, param }: ToldError, requestId: string): string {
    const error = { type, message, code, param, request_id: requestId }
    return this.#event({ type: 'error', code, message, param, error }) + this.#failed({ code: 'server_error', message })
  }

  #begin(type: string, { response }: Json): string {
    if (this.#rounds > 1) return ''
    this.#first = jsonOrNull(response) ?? {}
    const begun = this.#event({ type, response: this.#asked(this.#first) })
    return type === 'response.created' ? begun : begun + this.#open()
  }

  /** The events before the first round. */
  #open(): string {
    const lists = this.#listTools()
    const approved = this.#approved.map(([call, result]) => this.callBegins(call) + this.callEnds(call, result))
    this.#approved = []
    return lists + approved.join('')
  }

  #ask({ offered: { server, tool }, input }: ModelCall): string {
    const index = this.#output.length
    const id = this.#approvals.issue({ server, tool: tool.name, input })
    const item = { id, type: 'mcp_approval_request', server_label: server, name: tool.name, arguments: input }
    this.#output.push(item)
    return this.#events(
      ['response.output_item.added', { output_index: index, item }],
      ['response.output_item.done', { output_index: index, item }],
    )
  }

  /** Items with the tools of each server, unless the input has them. */
  #listTools(): string {
    if (this.#rounds > 1) return ''
    return this.#servers
      .filter(({ label }) => !this.#input.listed.has(label))
      .map(({ label, tools }) => {
        const id = itemId('mcpl')
        const index = this.#output.length
        const shown = tools.map(({ tool: { name, description, inputSchema, annotations } }) => ({
          name,
          description,
          input_schema: inputSchema,
          annotations,
        }))
        const item = { id, type: 'mcp_list_tools', server_label: label, tools: shown, error: null }
        this.#output.push(item)
        const place = { item_id: id, output_index: index }
        return this.#events(
          ['response.output_item.added', { output_index: index, item: { ...item, tools: [] } }],
          ['response.mcp_list_tools.in_progress', place],
          ['response.mcp_list_tools.completed', place],
          ['response.output_item.done', { output_index: index, item }],
        )
      })
      .join('')
  }

  /** Gives an item of the round its place in the answer. */
  #place({ output_index: at, item }: Json): void {
    const shown = jsonOrNull(item)
    const isCall = shown !== null && this.#offeredBy(shown) !== null
    this.#indexes.set(Number(at), isCall ? null : this.#output.length)
    if (!isCall) this.#output.push(shown ?? {})
  }

  #done(item: Json, index: number | null): void {
    this.#items.push(item)
    if (index !== null) this.#output[index] = item
    const offered = this.#offeredBy(item)
    if (offered !== null) {
      const input = text(item['arguments'])
      this.#calls.push({ callId: text(item['call_id']), itemId: itemId('mcp'), offered, input })
    } else if (item['type'] === 'function_call' || item['type'] === 'custom_tool_call') this.#ownCalls += 1
  }

  #offeredBy({ type, name, namespace }: Json): OfferedTool | null {
    if (type !== 'function_call' || typeof namespace === 'string') return null
    return this.#offered.get(text(name)) ?? null
  }

  #take(response: Json): void {
    this.#last = response
    this.#usage = addUsage(this.#usage, jsonOrNull(response['usage']))
  }

  #identity(): Json {
    return this.#first === null ? {} : { id: this.#first['id'], created_at: this.#first['created_at'] }
  }

  /** The tools of a response are those of the client's request. */
  #asked(response: Json): Json {
    const { tools, tool_choice: choice } = this.#body
    return {
      ...response,
      ...(tools === undefined || response['tools'] === undefined ? {} : { tools }),
      ...(choice === undefined || choice === null || response['tool_choice'] === undefined
        ? {}
        : { tool_choice: choice }),
    }
  }

  #failed(error: Json): string {
    const { code = 'server_error', message = '' } = error
    const status = { status: 'failed', error: { code, message }, incomplete_details: null }
    return this.#event({ type: 'response.failed', response: { ...this.#first, ...this.whole(), ...status } })
  }

  #events(...events: ReadonlyArray<readonly [type: string, fields: Json]>): string {
    return this.isStream ? events.map(([type, fields]) => this.#event({ type, ...fields })).join('') : ''
  }

  #event({ type, ...fields }: Json): string {
    const event = { type, ...fields, sequence_number: this.#sequence }
    this.#sequence += 1
    return `event: ${text(type)}\ndata: ${JSON.stringify(event)}\n\n`
  }
}

/** @param result null: it has begun */
function itemOf({ itemId: id, offered, input, approval = '' }: ModelCall, result: CallResult | null): Json {
  return {
    id,
    type: 'mcp_call',
    status: result === null ? 'in_progress' : result.error === null ? 'completed' : 'failed',
    approval_request_id: approval === '' ? null : approval,
    server_label: offered.server,
    name: offered.tool.name,
    arguments: input,
    output: result?.output ?? null,
    error: result?.error ?? null,
  }
}

/** After the first round, the model is free to answer. */
function unforced(choice: unknown): unknown {
  return choice === 'required' || (isJson(choice) && choice['type'] !== 'allowed_tools') ? 'auto' : choice
}
