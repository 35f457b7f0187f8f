import type { Conversation, FunctionTool } from '../../core/conversation.ts'
import type { JsonObject } from '../../core/json-object.ts'
import { writeCacheMark } from '../cache-mark.ts'
import { put } from '../fields.ts'
import type { LossReport } from '../losses.ts'
import { FREE_TEXT_PARAMETERS, toolsLeft } from '../tool-names.ts'
import type { ToolNames } from '../tool-names.ts'
import type { BlockAdapter } from './adapt.ts'

const NO_PARAMETERS: JsonObject = { type: 'object', properties: {} }

/** Tools of other dialects; tools of their servers cannot be carried. */
export function buildTools(
  { tools, toolChoice }: Conversation,
  adapter: BlockAdapter,
  names: ToolNames,
  losses: LossReport,
): JsonObject[] {
  const built: JsonObject[] = []
  for (const tool of toolsLeft(tools, toolChoice)) {
    switch (tool.type) {
      case 'function': {
        const name = tool.legacy ? names.declare(tool.name, 'legacy') : names.upstream(tool.name)
        built.push(writeTool(tool, name, adapter))
        if (tool.extra !== null) losses.lose('tools.extra')
        break
      }
      case 'custom': {
        if (tool.format !== null) losses.drop('tools.custom.format')
        const written: Record<string, unknown> = { name: names.declare(tool.name, 'custom') }
        put(written, 'description', tool.description)
        written['input_schema'] = FREE_TEXT_PARAMETERS
        built.push(written)
        break
      }
      case 'native':
        losses.lose('tools.native', `tools.${tool.kind}`)
    }
  }
  return built
}

function writeTool(tool: FunctionTool, name: string, adapter: BlockAdapter): JsonObject {
  const written: Record<string, unknown> = { name }
  put(written, 'description', tool.description)
  written['input_schema'] = objectSchema(tool.parameters)
  if (tool.strict === true) written['strict'] = true
  put(written, 'cache_control', writeCacheMark(adapter.mark(tool.cache)))
  return written
}

function objectSchema(schema: JsonObject | null): JsonObject {
  if (schema === null) return NO_PARAMETERS
  return typeof schema['type'] === 'string' ? schema : { type: 'object', ...schema }
}

/**
 * Which tool is to be called. A model that thinks cannot be made to call one: then it may choose.
 */
export function buildToolChoice(
  { toolChoice, tools, parallelToolCalls }: Conversation,
  names: ToolNames,
  losses: LossReport,
  { thinks, hasTools }: { readonly thinks: boolean; readonly hasTools: boolean },
): JsonObject | null {
  const wantsNative = toolChoice?.type === 'tool' && tools.some((tool) => isNative(tool, toolChoice.name))
  if (wantsNative) losses.lose('tool_choice.native', 'tool_choice')
  if (!hasTools) {
    if (toolChoice !== null && toolChoice.type !== 'none' && toolChoice.type !== 'auto') losses.drop('tool_choice')
    return null
  }
  let choice: Record<string, unknown> | null = null
  switch (toolChoice?.type) {
    case undefined:
      break
    case 'auto':
    case 'none':
      choice = { type: toolChoice.type }
      break
    case 'required':
      choice = { type: 'any' }
      break
    case 'allowed':
      choice = { type: toolChoice.required ? 'any' : 'auto' }
      break
    case 'tool':
      choice = { type: 'tool', name: names.upstream(toolChoice.name) }
  }
  if (thinks && choice !== null && choice['type'] !== 'auto' && choice['type'] !== 'none') {
    losses.drop('tool_choice')
    choice = { type: 'auto' }
  }
  if (parallelToolCalls === false && choice?.['type'] !== 'none') {
    choice ??= { type: 'auto' }
    choice['disable_parallel_tool_use'] = true
  }
  return choice
}

function isNative(tool: Conversation['tools'][number], name: string): boolean {
  return tool.type === 'native' && tool.name === name
}
