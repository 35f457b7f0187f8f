import type { Restoration, ToolAlias } from '../../shared/core/codec.ts'
import type { Tool, ToolChoice } from '../../shared/core/conversation.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import { cleaned, hashText } from './tool-ids.ts'

const MAX_NAME_LENGTH = 64
const HASH_LENGTH = 8

/** The parameters of a free-text tool in dialects that have only functions. */
export const FREE_TEXT_PARAMETERS: JsonObject = {
  type: 'object',
  properties: { input: { type: 'string' } },
  required: ['input'],
  additionalProperties: false,
}

/** Maps the tool names of one request to names that the upstream accepts, and records how to restore its calls. */
export class ToolNames {
  readonly #aliases: Record<string, ToolAlias> = Object.create(null) as Record<string, ToolAlias>
  #aliased = false
  answerTool: string | null = null

  /** The upstream's name of a tool: the client's name if it fits. The same name gives the same result. */
  upstream(name: string): string {
    if (name !== '' && name.length <= MAX_NAME_LENGTH && cleaned(name, true) === name) return name
    const alias = `${cleaned(name, true).slice(0, MAX_NAME_LENGTH - HASH_LENGTH - 1)}_${hashText(name, HASH_LENGTH)}`
    this.#alias(alias, name, 'function')
    return alias
  }

  /** Declares a tool whose calls the client does not expect as function calls. */
  declare(name: string, kind: 'custom' | 'legacy'): string {
    const upstream = this.upstream(name)
    this.#alias(upstream, name, kind)
    return upstream
  }

  #alias(upstream: string, name: string, kind: ToolAlias['kind']): void {
    this.#aliased = true
    if (this.#aliases[upstream] === undefined || kind !== 'function') this.#aliases[upstream] = { name, kind }
  }

  get restoration(): Restoration | null {
    if (!this.#aliased && this.answerTool === null) return null
    return { tools: { ...this.#aliases }, answerTool: this.answerTool }
  }
}

/** The tools that a choice allows. */
export function toolsLeft(tools: readonly Tool[], choice: ToolChoice | null): readonly Tool[] {
  if (choice === null || choice.type !== 'allowed') return tools
  return tools.filter((tool) => tool.name !== null && choice.names.includes(tool.name))
}
