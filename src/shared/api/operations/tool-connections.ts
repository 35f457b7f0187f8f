import { Type } from 'typebox'
import { nullable } from '../nullable.ts'
import { Id, listOf, NOTHING, ok, operation, PageQuery, REDIRECT, Time } from '../operation.ts'

const Sent = (description: string) => Type.Optional(Type.String({ description, maxLength: 4_000 }))

export const ToolConnection = Type.Object({
  id: { ...Id, description: 'The tool server.' },
  state: Type.Enum(['connected', 'none', 'unusable'], {
    type: 'string',
    description:
      'none: connect your account before you use its tools; unusable: you are connected, and may not use the server any more.',
  }),
  scope: nullable(Type.String({ description: 'What the authorization server has granted; null: it did not say.' })),
  connected_at: nullable(Time),
  connect_url: nullable(
    Type.String({
      description: 'The page at which you connect and disconnect it; null: the operator has set no address.',
    }),
  ),
})

const Code = Type.String({ description: 'As the browser brought it back.', minLength: 1, maxLength: 4_000 })

/** The own accounts of users at tool servers that want OAuth. */
export const TOOL_CONNECTIONS = {
  listToolConnections: operation({
    method: 'GET',
    path: '/api/mcp/connections',
    tag: 'Tool connections',
    summary: 'The tool servers that want your authorisation, and whether they have it',
    access: 'user',
    query: Type.Object(PageQuery),
    answer: ok(listOf(ToolConnection)),
  }),
  startToolConnection: operation({
    method: 'POST',
    path: '/api/mcp/connections/{id}/start',
    tag: 'Tool connections',
    summary: 'Begin to authorise the gateway at a tool server: open the address in a browser',
    access: 'user',
    // It asks other servers, and no transaction waits for them.
    isChange: false,
    answer: ok(
      Type.Object({
        url: Type.String({ description: 'The page of the authorization server.' }),
        expires_at: Time,
      }),
    ),
  }),
  toolConnectionCallback: operation({
    method: 'GET',
    path: '/api/mcp/callback',
    tag: 'Tool connections',
    summary:
      'The address to which an authorization server sends the browser back. It goes on to /connect of the console, with the answer behind the #.',
    access: 'everyone',
    query: Type.Object(
      {
        code: Sent('The code of the authorization server.'),
        state: Sent('As it got it.'),
        iss: Sent('Its name (RFC 9207).'),
        error: Sent('Why it refused.'),
      },
      // Authorization servers add parameters of their own.
      { additionalProperties: Type.String({ maxLength: 4_000 }) },
    ),
    answer: REDIRECT,
  }),
  finishToolConnection: operation({
    method: 'POST',
    path: '/api/mcp/connections',
    tag: 'Tool connections',
    summary: 'Connect your account, in the session that began it, once and within ten minutes',
    access: 'user',
    // The state is used up even when the rest fails.
    isChange: false,
    body: Type.Object({
      state: Code,
      code: Code,
      iss: Type.Optional(Type.String({ description: 'The same, where it came.', maxLength: 4_000 })),
    }),
    answer: ok(ToolConnection),
  }),
  endToolConnection: operation({
    method: 'DELETE',
    path: '/api/mcp/connections/{id}',
    tag: 'Tool connections',
    summary: 'Forget your authorisation at a tool server',
    access: 'user',
    answer: NOTHING,
  }),
} as const
