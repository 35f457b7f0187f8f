import type { Target } from '../../shared/core/codec.ts'
import type { Conversation, OutputFormat } from '../../shared/core/conversation.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import { jsonInstruction, schemaInstruction } from '../common/format-instruction.ts'
import type { DroppedFields } from '../dropped-fields.ts'
import { withoutKeywords } from './schema-keywords.ts'

/** A tool whose input is the answer, for models that cannot follow a schema in another way. */
const ANSWER_TOOL = 'answer_in_schema'

interface BuiltFormat {
  /** Members of `output_config`. */
  readonly output: JsonObject | null
  /** Text for the end of the system prompt. */
  readonly instruction: string | null
  readonly tool: JsonObject | null
  readonly toolChoice: JsonObject | null
  readonly answerTool: string | null
}

const NO_FORMAT: BuiltFormat = { output: null, instruction: null, tool: null, toolChoice: null, answerTool: null }

/** A forced tool allows neither tools of the client nor thinking. */
export function answerToolFits({ tools, reasoning }: Conversation, target: Target): boolean {
  return target.schemaOutput === 'tool' && tools.length === 0 && (reasoning === null || target.reasoning === 'none')
}

/** How the request asks for the answer's format. @param answerTool the format when a forced tool may produce it, else null */
export function buildFormat(
  format: OutputFormat | null,
  target: Target,
  answerTool: OutputFormat | null,
  droppedFields: DroppedFields,
): BuiltFormat {
  if (format === null) return NO_FORMAT
  if (format.type !== 'schema')
    return format.type === 'json' ? { ...NO_FORMAT, instruction: jsonInstruction() } : NO_FORMAT
  if (target.schemaOutput === 'native') {
    const schema = withoutKeywords(format.schema, () => droppedFields.drop('response_format.json_schema.schema'))
    return { ...NO_FORMAT, output: { format: { type: 'json_schema', schema } } }
  }
  if (answerTool === null) return { ...NO_FORMAT, instruction: schemaInstruction(format.schema) }
  const description = format.description ?? 'Give the answer.'
  return {
    ...NO_FORMAT,
    tool: { name: ANSWER_TOOL, description, input_schema: { type: 'object', ...format.schema } },
    toolChoice: { type: 'tool', name: ANSWER_TOOL },
    answerTool: ANSWER_TOOL,
  }
}
