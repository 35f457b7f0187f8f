import type { Json } from '../tool-source.ts'
import { isJson, list, text } from './json-values.ts'

/** Members of a block that a stream sends in parts, by the type of the part: the member of the part, and that of the block. */
const PARTS: Readonly<Record<string, readonly [part: string, member: string]>> = {
  text_delta: ['text', 'text'],
  thinking_delta: ['thinking', 'thinking'],
  signature_delta: ['signature', 'signature'],
  compaction_delta: ['content', 'content'],
}

/** Puts the content blocks of a streamed message together: https://platform.claude.com/docs/en/build-with-claude/streaming. */
export class StreamedBlocks {
  readonly #blocks = new Map<number, Record<string, unknown>>()
  /** JSON texts of inputs. */
  readonly #inputs = new Map<number, string>()

  begin(index: number, block: Json): void {
    this.#blocks.set(index, { ...block })
  }

  add(index: number, delta: Json): void {
    const block = this.#blocks.get(index)
    if (block === undefined) return
    const type = text(delta['type'])
    if (type === 'input_json_delta') {
      this.#inputs.set(index, (this.#inputs.get(index) ?? '') + text(delta['partial_json']))
    } else if (type === 'citations_delta') {
      const before: readonly unknown[] = Array.isArray(block['citations']) ? block['citations'] : []
      block['citations'] = [...before, delta['citation']]
    } else if (PARTS[type] !== undefined) {
      const [part, member] = PARTS[type]
      block[member] = text(block[member]) + text(delta[part])
    }
  }

  /** The blocks in order, as a message of the conversation has them. */
  whole(): Json[] {
    return [...this.#blocks].map(([index, block]) => {
      const input = this.#inputs.get(index) ?? ''
      return input.trim() === '' ? block : { ...block, input: objectOf(input) }
    })
  }

  /** The JSON text of a call's input, as the model sent it. */
  inputOf(index: number): string {
    const input = this.#inputs.get(index) ?? ''
    return input.trim() === '' ? JSON.stringify(this.#blocks.get(index)?.['input'] ?? {}) : input
  }
}

/** The object that a JSON text holds; an empty one where it holds none, because services take no other input. */
export function objectOf(input: string): Json {
  try {
    const value: unknown = JSON.parse(input)
    return isJson(value) ? value : {}
  } catch {
    return {}
  }
}

/**
 * The messages of a client as a model knows them: calls of servers and their results, which are blocks of one message of the assistant, become
 * calls of functions, and results in messages of the user. Those of tools that are not offered are left out.
 */
export function withEarlierCalls(
  messages: readonly Json[],
  functionOf: (server: string, tool: string) => string | null,
): Json[] {
  return messages.flatMap((message) => {
    const blocks = list(message['content'])
    return message['role'] === 'assistant' && blocks.some(isOfServer) ? split(message, blocks, functionOf) : [message]
  })
}

function isOfServer({ type }: Json): boolean {
  return type === 'mcp_tool_use' || type === 'mcp_tool_result' || type === 'mcp_tool_listing'
}

function split(
  message: Json,
  blocks: readonly Json[],
  functionOf: (server: string, tool: string) => string | null,
): Json[] {
  const answered = new Set(blocks.filter(({ type }) => type === 'mcp_tool_result').map((block) => block['tool_use_id']))
  const called = new Set<unknown>()
  const made: Json[] = []
  let said: Json[] = []
  let results: Json[] = []
  const end = (): void => {
    if (said.length > 0) made.push({ ...message, content: said })
    if (results.length > 0) made.push({ role: 'user', content: results })
    said = []
    results = []
  }
  for (const block of blocks) {
    const { type, server_name: server, ...rest } = block
    if (type === 'mcp_tool_result') {
      if (called.has(block['tool_use_id'])) results.push({ ...block, type: 'tool_result' })
      continue
    }
    if (type === 'mcp_tool_listing') continue
    const name = type === 'mcp_tool_use' ? functionOf(text(server), text(block['name'])) : null
    if (type === 'mcp_tool_use' && (name === null || !answered.has(block['id']))) continue
    if (results.length > 0) end()
    if (type === 'mcp_tool_use') called.add(block['id'])
    said.push(name === null ? block : { ...rest, type: 'tool_use', name })
  }
  end()
  return made
}
