import { createHash } from 'node:crypto'
import type { ToolDefinition } from '../../../shared/core/tool-server.ts'
import type { DigestedTool } from '../../store/tool-servers.ts'
import type { Json } from '../tool-source.ts'
import { isDeeper } from '../messages.ts'

const MAX_NAME = 256
const MAX_TEXT = 16_384
/** Of the whole definition of a tool. */
const MAX_BYTES = 131_072
const MAX_DEPTH = 32

/** Reads a tool as a server gave it. Null: it is not well-formed, or beyond the bounds. */
export function readTool(given: unknown): DigestedTool | null {
  if (!isJson(given) || isDeeper(given, MAX_DEPTH) || JSON.stringify(given).length > MAX_BYTES) return null
  const { name, title, description, inputSchema, outputSchema, annotations } = given
  if (typeof name !== 'string' || name === '' || name.length > MAX_NAME) return null
  if (!isJson(inputSchema) || inputSchema['type'] !== 'object') return null
  const shownTitle = isJson(annotations) && title === undefined ? annotations['title'] : title
  const definition: ToolDefinition = {
    name,
    title: typeof shownTitle === 'string' ? shownTitle.slice(0, MAX_TEXT) : null,
    description: typeof description === 'string' ? description.slice(0, MAX_TEXT) : '',
    inputSchema,
    outputSchema: isJson(outputSchema) && outputSchema['type'] === 'object' ? outputSchema : null,
    annotations: isJson(annotations) ? annotations : {},
  }
  return { definition, digest: digestOf(definition) }
}

/** All that a client or a model sees of a tool is in the digest: also hints, by which clients decide whether they ask people. */
function digestOf(definition: ToolDefinition): string {
  return createHash('sha256')
    .update(JSON.stringify(sorted(definition)))
    .digest('hex')
}

/** A copy whose members are in one order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (!isJson(value)) return value
  const names = Object.keys(value).sort()
  return names.map((name) => [name, sorted(value[name])])
}

export function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
