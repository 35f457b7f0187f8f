import type { Conversation, Tool } from '../../shared/core/conversation.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import { put } from '../common/fields.ts'
import { refuseLostChoice } from '../common/hosted-tools.ts'
import type { DroppedFields } from '../dropped-fields.ts'
import { FREE_TEXT_PARAMETERS } from '../common/tool-names.ts'
import { cleanParameters } from './schema.ts'
import type { GeminiToolNames } from './tool-names.ts'

/** Declares the client's tools. Tools of the client's provider cannot be carried. */
export function buildDeclarations(
  tools: readonly Tool[],
  names: GeminiToolNames,
  droppedFields: DroppedFields,
): JsonObject[] {
  const built: JsonObject[] = []
  for (const tool of tools) {
    if (tool.type === 'native') {
      droppedFields.lose('tools.native', `tools.${tool.kind}`)
      continue
    }
    const isFunction = tool.type === 'function'
    const declared = isFunction && !tool.legacy ? names.upstream(tool.name) : names.declare(tool.name, kindOf(tool))
    const declaration: Record<string, unknown> = { name: declared }
    put(declaration, 'description', tool.description)
    const { schema, lossy } = cleanParameters((isFunction ? tool.parameters : FREE_TEXT_PARAMETERS) ?? {})
    put(declaration, 'parameters', schema)
    if (lossy) droppedFields.drop('tools.parameters')
    if (tool.type === 'custom') droppedFields.dropValue('tools.custom.format', tool.format)
    else {
      if (tool.strict === true) droppedFields.lose('tools.strict')
      if (tool.cache !== null) droppedFields.lose('content.cache_control')
    }
    if (tool.extra !== null) droppedFields.lose('tools.extra')
    built.push(declaration)
  }
  return built
}

function kindOf(tool: Tool): 'custom' | 'legacy' {
  return tool.type === 'custom' ? 'custom' : 'legacy'
}

/** Builds `functionCallingConfig`, the choice of a tool. */
export function buildToolChoice(
  conversation: Conversation,
  names: GeminiToolNames,
  droppedFields: DroppedFields,
): JsonObject | null {
  const { toolChoice, tools, parallelToolCalls } = conversation
  refuseLostChoice(conversation, droppedFields)
  const declared = new Set(tools.map((tool) => (tool.type === 'native' ? null : tool.name)))
  if (parallelToolCalls === false) droppedFields.drop('parallel_tool_calls')
  switch (toolChoice?.type) {
    case undefined:
      return null
    case 'auto':
      return declared.size === 0 ? null : { mode: 'AUTO' }
    case 'none':
      return declared.size === 0 ? null : { mode: 'NONE' }
    case 'required':
      return { mode: 'ANY' }
    case 'tool':
      if (!declared.has(toolChoice.name)) droppedFields.lose('tool_choice.native', 'tool_choice')
      return { mode: 'ANY', allowedFunctionNames: [names.upstream(toolChoice.name)] }
    case 'allowed': {
      const allowed = toolChoice.names.filter((name) => declared.has(name)).map((name) => names.upstream(name))
      if (allowed.length === 0) return { mode: 'NONE' }
      return { mode: toolChoice.required ? 'ANY' : 'VALIDATED', allowedFunctionNames: allowed }
    }
  }
}
