import { Type } from 'typebox'
import type { Static } from 'typebox'
import type { DescribedEndpoint } from './described-endpoint.ts'

const ObjectSchema = Type.Object({}, { description: 'A JSON schema of an object.' })

const Tool = Type.Object({
  name: Type.String(),
  title: Type.String(),
  description: Type.String(),
  inputSchema: ObjectSchema,
  outputSchema: Type.Optional(ObjectSchema),
  annotations: Type.Object({
    title: Type.String(),
    readOnlyHint: Type.Boolean({ description: 'The tool changes nothing.' }),
    destructiveHint: Type.Boolean({ description: 'A call may make something useless that was in use.' }),
    idempotentHint: Type.Boolean({ description: 'A repeated call changes nothing more.' }),
    openWorldHint: Type.Boolean({ description: 'The tool uses something beyond the gateway.' }),
  }),
})

export const ToolResult = Type.Object({
  content: Type.Array(Type.Object({ type: Type.String(), text: Type.Optional(Type.String()) })),
  structuredContent: Type.Optional(Type.Object({}, { description: 'The result by the outputSchema of the tool.' })),
  isError: Type.Boolean({ description: 'The tool failed, and the text says why.' }),
})

export type ToolResult = Static<typeof ToolResult>

/** The plain paths of the tool server. The protocol itself is at /mcp and /mcp/sse. */
export const TOOL_ENDPOINTS: readonly DescribedEndpoint[] = [
  {
    operation: 'listTools',
    method: 'GET',
    path: '/mcp/tools',
    tag: 'Tools',
    summary: 'The tools that you may use',
    answer: Type.Object({ tools: Type.Array(Tool) }),
    takesSession: true,
  },
  {
    operation: 'callTool',
    method: 'POST',
    path: '/mcp/tools/{name}',
    tag: 'Tools',
    summary: 'Call a tool; the body has its arguments',
    body: Type.Object(
      {},
      { description: 'The arguments, by the inputSchema of the tool.', additionalProperties: true },
    ),
    example: { limit: 5 },
    answer: ToolResult,
    takesSession: true,
  },
]
