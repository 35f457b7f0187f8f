import type { Json } from '../tool-source.ts'
import { BrokenRound } from './chat.ts'
import { addUsage, count, isJson, jsonOrNull, list, text } from './json-values.ts'
import type { CallResult, Chat, ChatTerms, ModelCall, RoundEnd, ToldError } from './chat.ts'
import { objectOf, StreamedBlocks, withEarlierCalls } from './message-blocks.ts'
import { isNamed, itemId } from './offered-tools.ts'
import type { OfferedServer, OfferedTool } from './offered-tools.ts'

/**
 * A message whose tools the gateway calls, with the blocks that the MCP connector has for it (`mcp_tool_use`, `mcp_tool_result`):
 * https://platform.claude.com/docs/en/agents-and-tools/mcp-connector. The blocks of all rounds are one message.
 */
export class MessagesChat implements Chat {
  readonly path = '/v1/messages'
  readonly isStream: boolean
  readonly model: string
  readonly #body: Json
  readonly #offered: ReadonlyMap<string, OfferedTool>
  readonly #tools: readonly Json[]
  readonly #messages: Json[]
  /** Of a whole answer to the client. */
  readonly #content: Json[] = []
  /** Blocks that the client's stream has had. */
  #shown = 0
  #rounds = 0
  #usage: Json | null = null
  /** The message of the first round: its members are those of the answer. */
  #first: Json | null = null
  // Of the round under way.
  #blocks = new StreamedBlocks()
  /** By the index of a block in the round: its index in the answer; null for a call that the gateway makes. */
  #indexes = new Map<number, number | null>()
  #said: readonly Json[] = []
  #calls: ModelCall[] = []
  #ownCalls = 0
  #results: Json[] = []
  #roundUsage: Json | null = null
  /** The members that end the message. */
  #last: Json = {}

  constructor({ body, servers }: ChatTerms) {
    this.#body = body
    this.isStream = body['stream'] === true
    this.model = text(body['model'])
    const offered = servers.flatMap(({ tools }) => tools)
    this.#offered = new Map(offered.map((one) => [one.functionName, one]))
    const asked = list(body['tools'])
    const toolsets = asked.filter(({ type }) => type === 'mcp_toolset')
    this.#tools = [
      ...asked.filter(({ type }) => type !== 'mcp_toolset'),
      ...servers.flatMap((server) =>
        toolsOf(
          server,
          toolsets.find(({ mcp_server_name: name }) => name === server.label),
        ),
      ),
    ]
    this.#messages = withEarlierCalls(
      list(body['messages']),
      (server, name) =>
        offered.find((one) => one.server === server && isNamed(one.tool, server, name))?.functionName ?? null,
    )
  }

  get promptTokens(): number {
    return count(this.#usage, 'input_tokens') + this.cachedTokens + count(this.#usage, 'cache_creation_input_tokens')
  }

  get completionTokens(): number {
    return count(this.#usage, 'output_tokens')
  }

  get cachedTokens(): number {
    return count(this.#usage, 'cache_read_input_tokens')
  }

  roundBody(isLast: boolean): Json {
    const isFirst = this.#rounds === 0
    this.#rounds += 1
    if (this.#results.length > 0) this.#messages.push({ role: 'user', content: this.#results })
    this.#blocks = new StreamedBlocks()
    this.#indexes = new Map()
    this.#said = []
    this.#calls = []
    this.#ownCalls = 0
    this.#results = []
    this.#roundUsage = null
    const { tools: _, mcp_servers: __, tool_choice: asked, ...rest } = this.#body
    const choice = isLast ? { type: 'none' } : isFirst ? this.#chosen(asked) : unforced(asked)
    return {
      ...rest,
      messages: this.#messages,
      ...(this.#tools.length === 0 ? {} : { tools: this.#tools }),
      ...(choice === undefined || this.#tools.length === 0 ? {} : { tool_choice: choice }),
    }
  }

  readEvent(data: string): string {
    const sent = JSON.parse(data) as Json
    const index = Number(sent['index'])
    switch (sent['type']) {
      case 'message_start': {
        const message = jsonOrNull(sent['message']) ?? {}
        this.#roundUsage = jsonOrNull(message['usage'])
        if (this.#first !== null) return ''
        this.#first = message
        return event(sent)
      }
      case 'content_block_start': {
        const block = jsonOrNull(sent['content_block']) ?? {}
        this.#blocks.begin(index, block)
        this.#indexes.set(index, this.#offeredBy(block) === null ? this.#place() : null)
        return this.#moved(sent, index)
      }
      case 'content_block_delta':
        this.#blocks.add(index, jsonOrNull(sent['delta']) ?? {})
        return this.#moved(sent, index)
      case 'content_block_stop':
        return this.#moved(sent, index)
      case 'message_delta': {
        // Only the end of the round tells whether it is the last one.
        const { type: _, usage, ...members } = sent
        this.#last = members
        this.#roundUsage = replaced(this.#roundUsage, jsonOrNull(usage))
        return ''
      }
      case 'message_stop':
        return ''
      case 'error':
        throw new BrokenRound(event(sent))
      default:
        return event(sent)
    }
  }

  readWhole(answer: Json): void {
    const { content, usage, ...members } = answer
    this.#first ??= members
    this.#last = members
    this.#roundUsage = jsonOrNull(usage)
    for (const [index, block] of list(content).entries()) {
      this.#blocks.begin(index, block)
      if (this.#offeredBy(block) === null) this.#content.push(block)
    }
  }

  endRound(isLast: boolean): RoundEnd {
    this.#usage = addUsage(this.#usage, this.#roundUsage)
    this.#said = this.#blocks.whole()
    for (const [index, block] of this.#said.entries()) {
      const offered = this.#offeredBy(block)
      if (offered !== null) {
        const input = this.#blocks.inputOf(index)
        this.#calls.push({ callId: text(block['id']), itemId: itemId('mcptoolu'), offered, input })
      } else if (block['type'] === 'tool_use') this.#ownCalls += 1
    }
    if (this.#calls.length === 0 || this.#ownCalls > 0 || isLast) return { calls: [] }
    // The protocol takes no empty texts.
    const said = this.#said.filter((block) => block['type'] !== 'text' || text(block['text']) !== '')
    this.#messages.push({ role: 'assistant', content: said })
    return { calls: this.#calls }
  }

  callBegins({ itemId: id, offered, input }: ModelCall): string {
    const value = objectOf(input)
    const block = { type: 'mcp_tool_use', id, name: offered.tool.name, input: value, server_name: offered.server }
    if (!this.isStream) {
      this.#content.push(block)
      return ''
    }
    const index = this.#place()
    const delta = { type: 'input_json_delta', partial_json: JSON.stringify(value) }
    return (
      event({ type: 'content_block_start', index, content_block: { ...block, input: {} } }) +
      event({ type: 'content_block_delta', index, delta }) +
      event({ type: 'content_block_stop', index })
    )
  }

  callEnds({ itemId: id, callId }: ModelCall, { output, error }: CallResult): string {
    const isError = error !== null
    const said = output ?? error
    this.#results.push({ type: 'tool_result', tool_use_id: callId, content: said, is_error: isError })
    const content = [{ type: 'text', text: said }]
    const block = { type: 'mcp_tool_result', tool_use_id: id, is_error: isError, content }
    if (!this.isStream) {
      this.#content.push(block)
      return ''
    }
    const index = this.#place()
    return (
      event({ type: 'content_block_start', index, content_block: block }) + event({ type: 'content_block_stop', index })
    )
  }

  end(): string {
    if (!this.isStream) return ''
    const { delta, ...members } = this.#last
    const ended = { ...jsonOrNull(delta), stop_reason: this.#stopReason(jsonOrNull(delta)) }
    return (
      event({ type: 'message_delta', delta: ended, ...members, usage: this.#usage ?? {} }) +
      event({ type: 'message_stop' })
    )
  }

  whole(): Json {
    const { id } = this.#first ?? {}
    const usage = this.#usage === null ? {} : { usage: this.#usage }
    return { ...this.#last, id, content: this.#content, stop_reason: this.#stopReason(this.#last), ...usage }
  }

  fail(error: ToldError, requestId: string): string {
    return event(messagesError(error, requestId))
  }

  #chosen(choice: unknown): unknown {
    if (!isJson(choice) || choice['type'] !== 'tool') return choice
    const { name } = choice
    if (this.#tools.some((tool) => tool['name'] === name)) return choice
    const tool = [...this.#offered.values()].find((one) => isNamed(one.tool, one.server, name))
    return tool === undefined ? choice : { ...choice, name: tool.functionName }
  }

  /** A model that calls tools of servers in the last round gets no answer to these calls. */
  #stopReason(ended: Json | null): unknown {
    const reason = ended?.['stop_reason'] ?? null
    return reason === 'tool_use' && this.#ownCalls === 0 ? 'end_turn' : reason
  }

  #offeredBy({ type, name }: Json): OfferedTool | null {
    return type === 'tool_use' ? (this.#offered.get(text(name)) ?? null) : null
  }

  #place(): number {
    this.#shown += 1
    return this.#shown - 1
  }

  /** An event of a block, with the index that the block has in the answer. */
  #moved(sent: Json, at: number): string {
    const index = this.#indexes.get(at)
    return index === undefined || index === null ? '' : event({ ...sent, index })
  }
}

/** An error as clients of the messages protocol read it. Its message names the bad field: there is no other place. */
export function messagesError({ type, message, param }: ToldError, requestId: string): Json {
  const told = param === null || message.includes(param) ? message : `${param}: ${message}`
  return { type: 'error', error: { type, message: told }, request_id: requestId }
}

/** The definitions of a server's tools. The mark of a toolset for the prompt cache is that of its last tool. */
function toolsOf({ tools }: OfferedServer, toolset: Json | undefined): Json[] {
  const { default_config: all, configs, cache_control: mark } = toolset ?? {}
  return tools.map(({ functionName: name, server, tool }, at) => {
    const own = Object.entries(jsonOrNull(configs) ?? {}).find(([named]) => isNamed(tool, server, named))
    const isDeferred = jsonOrNull(own?.[1])?.['defer_loading'] ?? jsonOrNull(all)?.['defer_loading']
    return {
      name,
      description: tool.description,
      input_schema: tool.inputSchema,
      ...(isDeferred === true ? { defer_loading: true } : {}),
      ...(at === tools.length - 1 && isJson(mark) ? { cache_control: mark } : {}),
    }
  })
}

/** After the first round, the model is free to answer. */
function unforced(choice: unknown): unknown {
  if (!isJson(choice) || (choice['type'] !== 'any' && choice['type'] !== 'tool')) return choice
  const { name: _, ...rest } = choice
  return { ...rest, type: 'auto' }
}

/** Later figures of one message are of the whole message. */
function replaced(before: Json | null, later: Json | null): Json | null {
  if (later === null) return before
  return { ...before, ...Object.fromEntries(Object.entries(later).filter(([, value]) => value !== null)) }
}

function event(value: Json): string {
  return `event: ${text(value['type'])}\ndata: ${JSON.stringify(value)}\n\n`
}
