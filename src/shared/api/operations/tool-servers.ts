import { Type } from 'typebox'
import { nounOrNull, nullable } from '../nullable.ts'
import { created, Id, listOf, NOTHING, ok, operation, PageQuery, Time } from '../operation.ts'

const ROLES = ['owner', 'admin', 'finance', 'employee'] as const

const Url = Type.String({
  description: 'https:// and a public address, unless management.private_upstreams lists the host.',
  minLength: 1,
  maxLength: 2_048,
  examples: ['https://tools.example.com/mcp'],
})

const Headers = Type.Record(Type.String(), Type.String({ writeOnly: true, maxLength: 8_192 }), {
  description: 'Headers of each request to it, for example authorization. Their values are never shown again.',
})

const Access = Type.Array(
  Type.Object(
    {
      everyone: Type.Optional(Type.Literal(true, { description: 'Every user and key.' })),
      role: Type.Optional(Type.Enum([...ROLES], { type: 'string', description: 'A role in an enterprise.' })),
      enterprise_id: Type.Optional({ ...Id, description: 'Members and keys of an enterprise.' }),
      department_id: Type.Optional({
        ...Id,
        description: 'Members and keys of a department, and of those below it.',
      }),
      key_id: Type.Optional({ ...Id, description: 'One entry key.' }),
    },
    { additionalProperties: false, minProperties: 1 },
  ),
  {
    description:
      'Who may use it besides platform admins: whom one of these rules fits in all that it says. A key also needs mcp_tools. Default: nobody.',
    maxItems: 1_000,
  },
)

const Transport = Type.Enum(['http', 'sse'], {
  type: 'string',
  description: 'http: Streamable HTTP; sse: HTTP+SSE of revision 2024-11-05. Default: http.',
})

const OpenApi = Type.String({
  description:
    'An OpenAPI document, 3.0 or 3.1, in JSON or YAML: the server is an HTTP API, url is its base address, and its operations are the tools. References to other documents are not followed. At most 1 MiB.',
  minLength: 1,
  maxLength: 1_048_576,
  examples: ['openapi: 3.1.0\ninfo: { title: Shop, version: "1" }\npaths: {}\n'],
})

const Auth = Type.Enum(['none', 'oauth'], {
  type: 'string',
  description:
    'none: all callers share its headers; oauth: each user authorises the gateway at it, and calls it with an own token. Default: none.',
})

const OAuth = {
  auth: Type.Optional(Auth),
  oauth_client_id: Type.Optional(
    nullable(
      Type.String({
        description:
          'The client that is registered at its authorization server. Default: the gateway registers itself.',
        minLength: 1,
        maxLength: 2_048,
      }),
    ),
  ),
  oauth_client_secret: Type.Optional(
    nullable(
      Type.String({ description: 'The secret of that client.', writeOnly: true, minLength: 1, maxLength: 8_192 }),
    ),
  ),
  oauth_scopes: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 256 }), {
      description: 'Scopes to ask for. Default: those that the server names.',
      maxItems: 100,
    }),
  ),
}

const Settings = {
  timeout_ms: Type.Integer({
    description: 'Longest time of a call. Default: 60000.',
    minimum: 100,
    maximum: 3_600_000,
  }),
  price_micro: Type.Integer({
    description: 'Price of a call, in millionths of the currency. Default: 0.',
    minimum: 0,
    maximum: 1_000_000_000_000,
  }),
  enabled: Type.Boolean({ description: 'False: its tools are neither shown nor called. Default: true.' }),
  access: Access,
  allow_all_tools: Type.Boolean({
    description:
      'Allows all tools that it has when they are listed first. Otherwise, and for those that come later, an admin allows each. Default: false.',
  }),
  interactive: Type.Boolean({
    description: 'Its calls may ask the caller for input, and for answers of models. Default: false.',
  }),
  sampling_model: nullable(
    Type.String({
      description:
        'The model that answers in place of callers whose client has none. The key that pays for the call pays for it. Default: null.',
      minLength: 1,
      maxLength: 256,
    }),
  ),
}

export const ToolServer = Type.Object({
  id: Id,
  source: Type.Enum(['file', 'stored'], { type: 'string', description: 'The configuration file, or management.' }),
  state: Type.Enum(['active', 'disabled', 'unreadable', 'shadowed'], {
    type: 'string',
    description:
      'unreadable: its headers were encrypted with another secret, set them again; shadowed: the configuration has a server of this id, which is used instead.',
  }),
  url: nullable(Type.String({ description: 'Null: it is a program of the configuration file.' })),
  transport: Type.Enum(['http', 'sse', 'stdio', 'openapi'], {
    type: 'string',
    description: 'stdio: a program; openapi: an HTTP API with an OpenAPI document.',
  }),
  openapi_digest: nullable(Type.String({ description: 'SHA-256 of the OpenAPI document; null: it has none.' })),
  left_out: Type.Array(Type.Object({ operation: Type.String(), reason: Type.String() }), {
    description: 'Operations of the OpenAPI document that no tool can be made of, the first 100.',
  }),
  headers: Type.Array(Type.String(), { description: 'Names of its headers.' }),
  auth: Auth,
  oauth_client_id: nullable(Type.String({ description: 'Null: the gateway registers itself.' })),
  oauth_scopes: Type.Array(Type.String()),
  timeout_ms: Settings.timeout_ms,
  price_micro: Settings.price_micro,
  enabled: Settings.enabled,
  access: Access,
  allow_all_tools: Settings.allow_all_tools,
  interactive: Settings.interactive,
  sampling_model: Settings.sampling_model,
  tools: Type.Object(
    {
      allowed: Type.Integer({ description: 'Tools that are offered.' }),
      held: Type.Integer({ description: 'Tools that have changed since an admin allowed them.' }),
      waiting: Type.Integer({ description: 'Tools that no admin has allowed yet.' }),
    },
    { description: 'Numbers of its tools.' },
  ),
  created_at: nullable(Time),
  updated_at: nullable(Time),
})

export const ToolDefinition = Type.Object(
  {
    title: nullable(Type.String()),
    description: Type.String(),
    input_schema: Type.Unsafe<object>({ type: 'object', additionalProperties: true }),
    output_schema: nullable(Type.Unsafe<object>({ type: 'object', additionalProperties: true })),
    annotations: Type.Unsafe<object>({ type: 'object', additionalProperties: true }),
  },
  { description: 'A tool as its server defined it.' },
)

const Digest = Type.String({ description: 'Names a definition of a tool.', minLength: 1, maxLength: 128 })
const ToolName = Type.String({ description: 'The name of the tool at its server.', minLength: 1, maxLength: 256 })

export const ServerTool = Type.Object({
  name: nullable(Type.String({ description: 'The name for clients; null: it has none, because the tool is gone.' })),
  server_tool: ToolName,
  state: Type.Enum(['allowed', 'held', 'waiting', 'gone'], {
    type: 'string',
    description:
      'held: it has changed since an admin allowed it; waiting: no admin has allowed it yet; gone: the server has it no more. Only allowed ones are shown and called.',
  }),
  digest: nullable({ ...Digest, description: 'Of the newest definition. To allow the tool, send it back.' }),
  allowed: nounOrNull(ToolDefinition, { description: 'The definition that an admin allowed.' }),
  newest: nounOrNull(ToolDefinition, { description: 'The definition that the server gave last.' }),
  changed_at: Time,
})

const ToolServerTest = Type.Object({
  ok: Type.Boolean(),
  latency_ms: Type.Integer({ description: 'Time until its tools were listed, or that failed.' }),
  tools: nullable(Type.Integer({ description: 'Number of its tools.' })),
  error: nullable(Type.Object({ code: Type.String(), message: Type.String() })),
})

/** Upstream servers of tools. Those that are programs are in the configuration file alone: nothing of the API starts a process. */
export const TOOL_SERVERS = {
  adminListToolServers: operation({
    method: 'GET',
    path: '/api/admin/mcp/servers',
    tag: 'Tool servers',
    summary: 'Upstream servers of tools',
    access: 'platform-admin',
    query: Type.Object(PageQuery),
    answer: ok(listOf(ToolServer)),
  }),
  adminCreateToolServer: operation({
    method: 'POST',
    path: '/api/admin/mcp/servers',
    tag: 'Tool servers',
    summary: 'Register an upstream server of tools',
    access: 'platform-admin',
    body: Type.Object({
      id: Type.String({
        description: 'The names of its tools begin with it. "sluice" is the name of the own tools, and refused.',
        pattern: '^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$',
        examples: ['search'],
        maxLength: 32,
      }),
      url: Url,
      transport: Type.Optional(Transport),
      openapi: Type.Optional(OpenApi),
      headers: Type.Optional(Headers),
      ...OAuth,
      timeout_ms: Type.Optional(Settings.timeout_ms),
      price_micro: Type.Optional(Settings.price_micro),
      enabled: Type.Optional(Settings.enabled),
      access: Type.Optional(Settings.access),
      allow_all_tools: Type.Optional(Settings.allow_all_tools),
      interactive: Type.Optional(Settings.interactive),
      sampling_model: Type.Optional(Settings.sampling_model),
    }),
    answer: created(ToolServer),
  }),
  adminGetToolServer: operation({
    method: 'GET',
    path: '/api/admin/mcp/servers/{id}',
    tag: 'Tool servers',
    summary: 'One upstream server of tools',
    access: 'platform-admin',
    answer: ok(ToolServer),
  }),
  adminUpdateToolServer: operation({
    method: 'PUT',
    path: '/api/admin/mcp/servers/{id}',
    tag: 'Tool servers',
    summary: 'Change an upstream server of tools: a missing field stays as it is',
    access: 'platform-admin',
    body: Type.Object({
      url: Type.Optional(Url),
      transport: Type.Optional(Transport),
      openapi: Type.Optional(OpenApi),
      headers: Type.Optional(Headers),
      ...OAuth,
      timeout_ms: Type.Optional(Settings.timeout_ms),
      price_micro: Type.Optional(Settings.price_micro),
      enabled: Type.Optional(Settings.enabled),
      access: Type.Optional(Settings.access),
      allow_all_tools: Type.Optional(Settings.allow_all_tools),
      interactive: Type.Optional(Settings.interactive),
      sampling_model: Type.Optional(Settings.sampling_model),
    }),
    answer: ok(ToolServer),
  }),
  adminDeleteToolServer: operation({
    method: 'DELETE',
    path: '/api/admin/mcp/servers/{id}',
    tag: 'Tool servers',
    summary: 'Delete an upstream server of tools; calls of it end',
    access: 'platform-admin',
    answer: NOTHING,
  }),
  adminTestToolServer: operation({
    method: 'POST',
    path: '/api/admin/mcp/servers/{id}/test',
    tag: 'Tool servers',
    summary: 'Connect to an upstream server of tools, and list them',
    access: 'platform-admin',
    isChange: false,
    answer: ok(ToolServerTest),
  }),
  adminRefreshToolServer: operation({
    method: 'POST',
    path: '/api/admin/mcp/servers/{id}/refresh',
    tag: 'Tool servers',
    summary: 'List the tools of an upstream server again, and hold those that have changed',
    access: 'platform-admin',
    // It notes what the server says. What an admin decides is another operation.
    isChange: false,
    answer: ok(ToolServer),
  }),
  adminListServerTools: operation({
    method: 'GET',
    path: '/api/admin/mcp/servers/{id}/tools',
    tag: 'Tool servers',
    summary: 'The tools of an upstream server, with the definitions that were allowed and those that it gave last',
    access: 'platform-admin',
    query: Type.Object({
      ...PageQuery,
      state: Type.Optional(Type.Enum(['allowed', 'held', 'waiting', 'gone'], { type: 'string' })),
    }),
    answer: ok(listOf(ServerTool)),
  }),
  adminDecideServerTools: operation({
    method: 'POST',
    path: '/api/admin/mcp/servers/{id}/tools/decide',
    tag: 'Tool servers',
    summary: 'Allow tools of an upstream server as they were shown, and deny others',
    access: 'platform-admin',
    body: Type.Object({
      allow: Type.Optional(
        Type.Array(Type.Object({ server_tool: ToolName, digest: Digest }, { additionalProperties: false }), {
          description: 'A tool that has changed since is not allowed: the operation fails, and nothing is decided.',
          maxItems: 1_000,
        }),
      ),
      deny: Type.Optional(Type.Array(ToolName, { maxItems: 1_000 })),
    }),
    answer: NOTHING,
  }),
} as const
