import type { Target } from '../../shared/core/codec.ts'
import type { Conversation, FunctionTool, NativeTool } from '../../shared/core/conversation.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import { writeCacheMark } from '../common/cache-mark.ts'
import { put } from '../common/fields.ts'
import { messagesWebSearch, refuseLostChoice, WEB_SEARCH, webSearchOf } from '../common/hosted-tools.ts'
import type { DroppedFields } from '../dropped-fields.ts'
import { FREE_TEXT_PARAMETERS, toolsLeft } from '../common/tool-names.ts'
import type { ToolNames } from '../common/tool-names.ts'
import type { BlockAdapter } from './adapt.ts'

const NO_PARAMETERS: JsonObject = { type: 'object', properties: {} }

/** Writes tools of other dialects. Keeps a provider's tool only when this upstream has it too. */
export function buildTools(
  { tools, toolChoice }: Conversation,
  target: Target,
  adapter: BlockAdapter,
  names: ToolNames,
  droppedFields: DroppedFields,
): JsonObject[] {
  const built: JsonObject[] = []
  for (const tool of toolsLeft(tools, toolChoice)) {
    switch (tool.type) {
      case 'function': {
        const name = tool.legacy ? names.declare(tool.name, 'legacy') : names.upstream(tool.name)
        built.push(writeTool(tool, name, adapter))
        if (tool.extra !== null) droppedFields.lose('tools.extra')
        break
      }
      case 'custom': {
        if (tool.format !== null) droppedFields.drop('tools.custom.format')
        const written: Record<string, unknown> = { name: names.declare(tool.name, 'custom') }
        put(written, 'description', tool.description)
        written['input_schema'] = FREE_TEXT_PARAMETERS
        built.push(written)
        break
      }
      case 'native': {
        const written = writeHostedTool(tool, target)
        if (written === null) droppedFields.lose('tools.native', `tools.${tool.kind}`)
        else built.push(written)
      }
    }
  }
  return built
}

/** Null when the upstream has no such tool. */
function writeHostedTool(tool: NativeTool, { hostedTools = [] }: Target): JsonObject | null {
  const search = hostedTools.includes(WEB_SEARCH) ? webSearchOf(tool) : null
  return search === null ? null : messagesWebSearch(search)
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

/** Writes the tool choice. A model that thinks cannot be forced to call a tool, so the choice becomes `auto`. */
export function buildToolChoice(
  conversation: Conversation,
  target: Target,
  names: ToolNames,
  droppedFields: DroppedFields,
  { thinks, hasTools }: { readonly thinks: boolean; readonly hasTools: boolean },
): JsonObject | null {
  const { toolChoice, parallelToolCalls } = conversation
  refuseLostChoice(conversation, droppedFields, (tool) => writeHostedTool(tool, target) !== null)
  if (!hasTools) {
    if (toolChoice !== null && toolChoice.type !== 'none' && toolChoice.type !== 'auto')
      droppedFields.drop('tool_choice')
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
      choice = { type: 'tool', name: toolChoice.kind === 'hosted' ? WEB_SEARCH : names.upstream(toolChoice.name) }
  }
  if (thinks && choice !== null && choice['type'] !== 'auto' && choice['type'] !== 'none') {
    droppedFields.drop('tool_choice')
    choice = { type: 'auto' }
  }
  if (parallelToolCalls === false && choice?.['type'] !== 'none') {
    choice ??= { type: 'auto' }
    choice['disable_parallel_tool_use'] = true
  }
  return choice
}
