import type { Tool, ToolChoice } from '../../shared/core/conversation.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import { booleanOrNull, objects, restOf, textOr, withOddSchema } from '../common/fields.ts'
import { asObject } from '../common/json-value.ts'
import { nameInGroup } from './tool-groups.ts'

const KNOWN_FUNCTION = new Set(['type', 'name', 'namespace', 'description', 'parameters', 'strict'])
const KNOWN_CUSTOM = new Set(['type', 'name', 'namespace', 'description', 'format'])

/** Lists the tools of groups among the others, because upstreams have no groups. */
export function parseTools(value: unknown): Tool[] {
  return objects(value).flatMap((tool) => (tool['type'] === 'namespace' ? parseGroup(tool) : [parseTool(tool)]))
}

/** Puts the group's description before that of its first tool: once is enough for a model. */
function parseGroup({ name, description, tools }: JsonObject): Tool[] {
  return objects(tools).map((tool, index) => {
    const said = index === 0 ? [description, tool['description']] : [tool['description']]
    const text = said.filter((part) => typeof part === 'string' && part !== '').join('\n\n')
    return parseTool({ ...tool, namespace: name, description: text === '' ? null : text })
  })
}

function parseTool(tool: JsonObject): Tool {
  const name = nameInGroup(tool)
  const description = textOr(tool['description'], null)
  switch (tool['type']) {
    case 'function':
      return {
        type: 'function',
        name,
        description,
        parameters: asObject(tool['parameters']),
        strict: booleanOrNull(tool['strict']),
        legacy: false,
        cache: null,
        extra: withOddSchema(restOf(tool, KNOWN_FUNCTION), 'parameters', tool['parameters']),
      }
    case 'custom': {
      const format = parseGrammar(asObject(tool['format']))
      return { type: 'custom', name, description, format, extra: restOf(tool, KNOWN_CUSTOM) }
    }
    default: {
      const kind = textOr(tool['type'], '')
      return { type: 'native', kind, name: kind, value: tool }
    }
  }
}

/** Converts the grammar to the form of chat completions, which has it in an object of its own. */
function parseGrammar(format: JsonObject | null): JsonObject | null {
  if (format?.['type'] !== 'grammar') return null
  const { syntax, definition } = format
  return { type: 'grammar', grammar: { syntax, definition } }
}

/** @param tools the tools of the request: an allowed group stands for all of its tools */
export function parseToolChoice(value: unknown, tools: unknown): ToolChoice | null {
  if (value === 'auto' || value === 'none' || value === 'required') return { type: value }
  const choice = asObject(value)
  const type = textOr(choice?.['type'], null)
  if (choice === null || type === null) return null
  if (type === 'function' || type === 'custom') return { type: 'tool', name: nameInGroup(choice), kind: type }
  if (type !== 'allowed_tools') return { type: 'tool', name: type, kind: 'hosted' }
  const names = objects(choice['tools']).flatMap((allowed) => namesOf(allowed, tools))
  return { type: 'allowed', required: choice['mode'] === 'required', names, native: choice }
}

function namesOf(allowed: JsonObject, tools: unknown): readonly string[] {
  switch (allowed['type']) {
    case 'function':
    case 'custom':
      return [nameInGroup(allowed)]
    case 'namespace': {
      const isMeant = (tool: JsonObject): boolean => tool['type'] === 'namespace' && tool['name'] === allowed['name']
      const group = objects(tools).find(isMeant)
      return group === undefined ? [] : parseGroup(group).flatMap(({ name }) => name ?? [])
    }
    default:
      return [textOr(allowed['type'], '')]
  }
}
