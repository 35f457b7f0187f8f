import { nativeBlock, textBlock, thinkingBlock, toolCallBlock, toolResultBlock } from '../../shared/core/content.ts'
import type { Block } from '../../shared/core/content.ts'
import type { Message, Role } from '../../shared/core/conversation.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import { objects, textOr } from '../common/fields.ts'
import { valueAt } from '../common/json-value.ts'
import { readContent } from './parse-part.ts'
import { unseal } from './reasoning-seal.ts'
import { nameInGroup } from './tool-groups.ts'

/** Marks reasoning that only the service that issued it can read. */
const FOREIGN_FORMAT = 'openai-responses-v1'
const BETWEEN_SUMMARIES = '\n\n'

/**
 * Parses items into messages. Consecutive reasoning, texts and calls of the assistant become one message, because they are
 * one turn of the model.
 */
export function parseInput(input: unknown): Message[] {
  if (typeof input === 'string') return [message('user', [textBlock(input)], true)]
  const parser = new InputParser()
  for (const item of objects(input)) parser.take(item)
  return parser.messages
}

/** Reads the content of a whole response. */
export function readOutput(response: unknown): readonly Block[] {
  return parseInput(valueAt(response, 'output') ?? []).flatMap(({ content }) => content)
}

class InputParser {
  readonly messages: Message[] = []
  /** Content of the open assistant message, else null. */
  #turn: Block[] | null = null
  /** Signatures of calls that are still to come, by call id. */
  readonly #signatures = new Map<string, string>()

  take(item: JsonObject): void {
    const type = textOr(item['type'], 'message')
    switch (type) {
      case 'message':
        this.#message(item)
        break
      case 'reasoning':
        this.#reasoning(item)
        break
      case 'function_call':
        this.#call(item, 'function', item['arguments'])
        break
      case 'custom_tool_call':
        this.#call(item, 'custom', item['input'])
        break
      case 'function_call_output':
        this.#result(item, 'function')
        break
      case 'custom_tool_call_output':
        this.#result(item, 'custom')
        break
      default:
        this.#assistant(nativeBlock(type, item))
    }
  }

  #message(item: JsonObject): void {
    const role = roleOf(item['role'])
    const content = readContent(item['content'])
    if (role === 'assistant') this.#assistant(...content)
    else this.#push(message(role, content, typeof item['content'] === 'string'))
  }

  #reasoning(item: JsonObject): void {
    const text = textsOf(item['summary']) || textsOf(item['content'])
    const encrypted = textOr(item['encrypted_content'], '')
    const sealed = unseal(encrypted)
    if (sealed?.kind === 'call') {
      this.#signatures.set(sealed.callId, sealed.signature)
      return
    }
    if (sealed?.kind === 'redacted') {
      this.#assistant({ type: 'redacted-thinking', data: sealed.data, format: sealed.format, extra: null })
      return
    }
    if (sealed !== null) {
      this.#assistant(thinkingBlock(text, sealed.signature, sealed.format))
      return
    }
    if (text !== '') this.#assistant(thinkingBlock(text))
    if (encrypted !== '') {
      this.#assistant({ type: 'redacted-thinking', data: encrypted, format: FOREIGN_FORMAT, extra: null })
    }
  }

  #call(item: JsonObject, kind: 'function' | 'custom', input: unknown): void {
    const id = textOr(item['call_id'], '')
    const signature = this.#signatures.get(id) ?? null
    this.#assistant(toolCallBlock({ kind, id, name: nameInGroup(item), input: input ?? '', signature }))
  }

  #result(item: JsonObject, kind: 'function' | 'custom'): void {
    const output = item['output']
    const callId = textOr(item['call_id'], '')
    const plain = typeof output === 'string'
    this.#push(message('tool', [toolResultBlock({ kind, callId, content: readContent(output), plain })], plain))
  }

  #assistant(...blocks: readonly Block[]): void {
    if (this.#turn === null) {
      const turn: Block[] = []
      this.#push(message('assistant', turn, false))
      this.#turn = turn
    }
    this.#turn.push(...blocks)
  }

  #push(next: Message): void {
    this.#turn = null
    this.messages.push(next)
  }
}

function message(role: Role, content: readonly Block[], plain: boolean): Message {
  return { role, content, plain, name: null, extra: null }
}

function roleOf(role: unknown): Role {
  switch (role) {
    case 'assistant':
    case 'system':
    case 'developer':
      return role
    default:
      return 'user'
  }
}

function textsOf(parts: unknown): string {
  return objects(parts)
    .map((part) => textOr(part['text'], ''))
    .join(BETWEEN_SUMMARIES)
}
