import type { Target } from '../../shared/core/codec.ts'
import type { Conversation, FunctionTool } from '../../shared/core/conversation.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import { refuseLostChoice } from '../common/hosted-tools.ts'
import type { DroppedFields } from '../dropped-fields.ts'
import { FREE_TEXT_PARAMETERS, toolsLeft } from '../common/tool-names.ts'
import type { ToolNames } from '../common/tool-names.ts'
import type { Turn } from '../common/turns.ts'
import type { ConverseAdapter } from './adapt.ts'
import { cachePoint } from './build-block.ts'

const ANY_OBJECT: JsonObject = { type: 'object' }

interface ToolParts {
  readonly target: Target
  readonly adapter: ConverseAdapter
  readonly names: ToolNames
  readonly droppedFields: DroppedFields
  readonly turns: readonly Turn[]
  readonly thinks: boolean
}

/**
 * `toolConfig`; null when there are no tools. A history with calls needs its tools declared. So with the choice `none` they
 * stay declared, and the choice is dropped: the dialect cannot express it.
 */
export function buildToolConfig(conversation: Conversation, parts: ToolParts): JsonObject | null {
  const { tools, toolChoice } = conversation
  const { droppedFields } = parts
  const called = namesCalled(parts.turns)
  if (conversation.parallelToolCalls === false && tools.length > 0) droppedFields.drop('parallel_tool_calls')
  refuseLostChoice(conversation, droppedFields)
  if (toolChoice?.type === 'none') {
    if (called.size === 0) return null
    droppedFields.drop('tool_choice')
  }
  const specs: JsonObject[] = []
  const declared = new Set<string>()
  for (const tool of toolsLeft(tools, toolChoice)) {
    if (tool.type === 'native') {
      droppedFields.lose('tools.native', `tools.${tool.kind}`)
      continue
    }
    const name = tool.type === 'custom' ? parts.names.declare(tool.name, 'custom') : nameOf(tool, parts.names)
    declared.add(name)
    specs.push(specOf(name, tool.description, tool.type === 'custom' ? FREE_TEXT_PARAMETERS : schemaOf(tool)))
    if (tool.type === 'custom') droppedFields.dropValue('tools.custom.format', tool.format)
    else finishTool(tool, specs, parts)
  }
  for (const name of called) if (!declared.has(name)) specs.push(specOf(name, null, ANY_OBJECT))
  if (specs.length === 0) {
    if (toolChoice?.type === 'required' || toolChoice?.type === 'tool') droppedFields.drop('tool_choice')
    return null
  }
  const choice = declared.size === 0 ? null : choiceOf(conversation, parts)
  return { tools: specs, ...(choice === null ? null : { toolChoice: choice }) }
}

export function specOf(name: string, description: string | null, schema: JsonObject): JsonObject {
  const said = description === null || description.trim() === '' ? null : { description }
  return { toolSpec: { name, ...said, inputSchema: { json: schema } } }
}

function nameOf(tool: FunctionTool, names: ToolNames): string {
  return tool.legacy ? names.declare(tool.name, 'legacy') : names.upstream(tool.name)
}

function schemaOf({ parameters }: FunctionTool): JsonObject {
  if (parameters === null) return ANY_OBJECT
  return parameters['type'] === 'object' ? parameters : { ...parameters, type: 'object' }
}

function finishTool(tool: FunctionTool, specs: JsonObject[], { adapter, droppedFields }: ToolParts): void {
  if (tool.strict === true) droppedFields.lose('tools.strict')
  if (tool.extra !== null)
    for (const name of Object.keys(tool.extra)) if (name !== 'type') droppedFields.drop(`tools.${name}`)
  const mark = adapter.mark(tool.cache)
  if (mark !== null) specs.push(cachePoint(mark))
}

/** A model that thinks cannot be forced to call a tool, so the choice becomes `auto`. */
function choiceOf({ toolChoice }: Conversation, { names, droppedFields, thinks }: ToolParts): JsonObject | null {
  if (toolChoice === null || toolChoice.type === 'none') return null
  const forced = toolChoice.type === 'allowed' ? toolChoice.required : toolChoice.type !== 'auto'
  if (!forced) return { auto: {} }
  if (thinks) {
    droppedFields.drop('tool_choice')
    return { auto: {} }
  }
  return toolChoice.type === 'tool' ? { tool: { name: names.upstream(toolChoice.name) } } : { any: {} }
}

function namesCalled(turns: readonly Turn[]): Set<string> {
  const names = new Set<string>()
  for (const { content } of turns) for (const block of content) if (block.type === 'tool-call') names.add(block.name)
  return names
}
