import type { Target } from '../../shared/core/codec.ts'
import type { Conversation, CustomTool, FunctionTool } from '../../shared/core/conversation.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import { writeCacheMark } from '../common/cache-mark.ts'
import { put } from '../common/fields.ts'
import { refuseLostChoice } from '../common/hosted-tools.ts'
import type { DroppedFields } from '../dropped-fields.ts'
import { FREE_TEXT_PARAMETERS, toolsLeft } from '../common/tool-names.ts'
import type { ToolNames } from '../common/tool-names.ts'

/** Writes tools of other dialects. Tools of a provider's server cannot be carried. */
export function buildTools(
  { tools, toolChoice }: Conversation,
  target: Target,
  names: ToolNames,
  droppedFields: DroppedFields,
): JsonObject[] {
  const built: JsonObject[] = []
  for (const tool of toolsLeft(tools, toolChoice)) {
    if (tool.type === 'native') droppedFields.lose('tools.native', `tools.${tool.kind}`)
    else if (tool.type === 'custom') built.push(writeCustomTool(tool, target, names, droppedFields))
    else built.push(writeFunctionTool(tool, target, names, droppedFields))
  }
  return built
}

function writeFunctionTool(
  tool: FunctionTool,
  target: Target,
  names: ToolNames,
  droppedFields: DroppedFields,
): JsonObject {
  const definition: Record<string, unknown> = { name: names.upstream(tool.name) }
  put(definition, 'description', tool.description)
  put(definition, 'parameters', tool.parameters)
  if (tool.strict === true) definition['strict'] = true
  const written: Record<string, unknown> = { type: 'function', function: definition }
  if (tool.cache !== null) {
    if (target.takesCacheMarks) written['cache_control'] = writeCacheMark(tool.cache)
    else droppedFields.lose('content.cache_control')
  }
  if (tool.extra !== null) {
    for (const name of Object.keys(tool.extra)) if (name !== 'type') droppedFields.drop(`tools.${name}`)
  }
  return written
}

function writeCustomTool(tool: CustomTool, target: Target, names: ToolNames, droppedFields: DroppedFields): JsonObject {
  const definition: Record<string, unknown> = {}
  if (target.takesCustomTools) {
    definition['name'] = names.upstream(tool.name)
    put(definition, 'description', tool.description)
    put(definition, 'format', tool.format)
    return { type: 'custom', custom: definition }
  }
  if (tool.format !== null) droppedFields.drop('tools.format')
  definition['name'] = names.declare(tool.name, 'custom')
  put(definition, 'description', tool.description)
  definition['parameters'] = FREE_TEXT_PARAMETERS
  return { type: 'function', function: definition }
}

export function buildToolChoice(
  conversation: Conversation,
  hasTools: boolean,
  names: ToolNames,
  droppedFields: DroppedFields,
): string | JsonObject | null {
  refuseLostChoice(conversation, droppedFields)
  const { toolChoice } = conversation
  if (!hasTools) {
    // A choice without tools is an error. Dropping it loses something only when it forces a call.
    if (toolChoice?.type === 'required' || toolChoice?.type === 'tool') droppedFields.drop('tool_choice')
    return null
  }
  if (toolChoice === null) return null
  switch (toolChoice.type) {
    case 'allowed':
      return toolChoice.required ? 'required' : 'auto'
    case 'tool':
      return { type: 'function', function: { name: names.upstream(toolChoice.name) } }
    default:
      return toolChoice.type
  }
}
