import type { Target } from '../../shared/core/codec.ts'
import type { Conversation, OutputFormat } from '../../shared/core/conversation.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import { jsonInstruction, schemaInstruction } from '../format-instruction.ts'
import type { DroppedFields } from '../dropped-fields.ts'
import { withoutKeywords } from './schema-keywords.ts'

/** The tool whose input is the answer, for models that know no other way to a schema. */
const ANSWER_TOOL = 'answer_in_schema'

interface BuiltFormat {
  /** Members of `output_config`. */
  readonly output: JsonObject | null
  /** For the end of the system prompt. */
  readonly instruction: string | null
  readonly tool: JsonObject | null
  readonly toolChoice: JsonObject | null
  readonly answerTool: string | null
}

const FREE: BuiltFormat = { output: null, instruction: null, tool: null, toolChoice: null, answerTool: null }

/** Forcing a tool excludes the client's tools and thinking. */
export function answerToolFits({ tools, reasoning }: Conversation, target: Target): boolean {
  return target.schemaOutput === 'tool' && tools.length === 0 && (reasoning === null || target.reasoning === 'none')
}

/** How the answer's shape is asked for. @param answerTool the format when it may be had by a forced tool */
export function buildFormat(
  format: OutputFormat | null,
  target: Target,
  answerTool: OutputFormat | null,
  droppedFields: DroppedFields,
): BuiltFormat {
  if (format === null) return FREE
  if (format.type !== 'schema') return format.type === 'json' ? { ...FREE, instruction: jsonInstruction() } : FREE
  if (target.schemaOutput === 'native') {
    const schema = withoutKeywords(format.schema, () => droppedFields.drop('response_format.json_schema.schema'))
    return { ...FREE, output: { format: { type: 'json_schema', schema } } }
  }
  if (answerTool === null) return { ...FREE, instruction: schemaInstruction(format.schema) }
  const description = format.description ?? 'Give the answer.'
  return {
    ...FREE,
    tool: { name: ANSWER_TOOL, description, input_schema: { type: 'object', ...format.schema } },
    toolChoice: { type: 'tool', name: ANSWER_TOOL },
    answerTool: ANSWER_TOOL,
  }
}
