import type { JsonObject } from '../../shared/core/json-object.ts'
import { asObject, valueAt } from '../common/json-value.ts'

/** Fields that are null when the request left them out. */
const OPTIONAL = ['instructions', 'max_output_tokens', 'temperature', 'top_p', 'user', 'service_tier'] as const

/** The fields of the request that its response repeats. */
export function repeatedFields(body: unknown): JsonObject {
  const request = asObject(body) ?? {}
  const echo: Record<string, unknown> = {}
  for (const name of OPTIONAL) echo[name] = request[name] ?? null
  return {
    ...echo,
    metadata: request['metadata'] ?? {},
    parallel_tool_calls: request['parallel_tool_calls'] ?? true,
    previous_response_id: null,
    reasoning: {
      effort: valueAt(request, 'reasoning', 'effort') ?? null,
      summary: valueAt(request, 'reasoning', 'summary') ?? null,
    },
    store: false,
    background: false,
    text: { format: { type: 'text' }, ...asObject(request['text']) },
    tool_choice: request['tool_choice'] ?? 'auto',
    tools: request['tools'] ?? [],
    truncation: 'disabled',
  }
}
