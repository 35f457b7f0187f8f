import type { CallToolResult } from '@modelcontextprotocol/client'
import type { AiAnswer, AiRequest } from '../../../shared/core/ai-request.ts'
import { GatewayError } from '../../../shared/core/errors.ts'
import type { EntryKey } from '../../../shared/core/snapshot.ts'
import { CAPTURES_RESULT_HEADER, TOOL_CALL_HEADER, TOOL_CALL_PATH } from '../../../shared/core/tool-call.ts'
import type { ToolCallOrder, ToolCallReport } from '../../../shared/core/tool-call.ts'
import { stateOfTool } from '../../../shared/core/tool-server.ts'
import type { ServerTool, ToolDefinition, ToolServer } from '../../../shared/core/tool-server.ts'
import type { Queryable } from '../../store/database.ts'
import { failureOf } from '../ai-answers.ts'
import { keyAllows } from '../callers.ts'
import type { McpCaller } from '../callers.ts'
import { isDeeper } from '../messages.ts'
import { payingKey } from '../paying-key.ts'
import type { Json, ObjectSchema, Tool, ToolCall, ToolClient, ToolOutcome, ToolSource } from '../tool-source.ts'
import { mayUse, rightsOf, rightsOfKey } from './access.ts'
import { ArgumentCheck } from './argument-check.ts'
import { askedClient } from './asked-client.ts'
import { connectedUser, refuseOtherDefinition } from './connected-user.ts'
import type { Grants } from './grants.ts'
import type { BookedServer, ServerBook } from './server-book.ts'

export interface ServerToolsOptions {
  readonly database: Queryable
  readonly book: ServerBook
  readonly grants: Grants
  /** Has a front admit, reserve and record a call. */
  readonly requestAi: (request: AiRequest, signal: AbortSignal) => Promise<AiAnswer>
}

/** Names the key that pays for a call of a user. */
const KEY_ARGUMENT = 'sluice_key_id'
const KEY_SCHEMA = {
  type: 'string',
  description: 'The key that pays, one of yours or issued to you. Default: the only one that may.',
}
const MAX_ARGUMENT_BYTES = 1_048_576
const MAX_RESULT_DEPTH = 64

interface Found {
  readonly server: ToolServer
  readonly tool: ServerTool
}

interface Asked extends Found {
  /** Answers what the server asks during the call; null: it may ask nothing. */
  readonly asks: ToolClient | null
  /** The user as whom the call is made, at a server with OAuth; otherwise null. */
  readonly userId: string | null
  /** The front captures the result. */
  readonly isCaptured: boolean
}

interface InnerRequest {
  readonly path: string
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
  readonly signal: AbortSignal
}

/** The tools of upstream servers. A front admits, reserves and records each call like an AI request. */
export class ServerTools implements ToolSource {
  readonly #options: ServerToolsOptions
  readonly #arguments = new ArgumentCheck()

  constructor(options: ServerToolsOptions) {
    this.#options = options
  }

  async list(caller: McpCaller): Promise<readonly Tool[]> {
    const servers = await this.#serversFor(caller)
    return servers.flatMap(({ server, tools }) =>
      [...tools].flatMap(([name, tool]) => {
        const { allowed } = tool
        if (stateOfTool(tool) !== 'allowed' || allowed === null || !isForKey(caller, name)) return []
        return [shownTool(name, server, allowed, caller)]
      }),
    )
  }

  serverOf(name: string): string {
    return name.slice(0, name.indexOf('__'))
  }

  async has(caller: McpCaller, name: string): Promise<boolean> {
    return (await this.#find(caller, name)) !== null
  }

  async call(call: ToolCall): Promise<ToolOutcome> {
    const { caller, name, signal } = call
    const found = await this.#find(caller, name)
    if (found === null) throw new GatewayError('NOT_FOUND')
    const { server, tool } = found
    const { keyId, input } = withoutKey(call.input, allowedOf(tool).definition)
    const text = JSON.stringify(input)
    if (text.length > MAX_ARGUMENT_BYTES) {
      throw new GatewayError('INVALID_FIELD', { message: `The arguments are larger than ${MAX_ARGUMENT_BYTES} bytes.` })
    }
    const userId = await connectedUser(this.#options.grants, call, server)
    const order: ToolCallOrder = {
      tool: name,
      serverId: server.id,
      serverTool: tool.name,
      priceMicro: server.priceMicro,
    }
    const key = await this.#payingKey(caller, server, keyId)
    const request = (
      path: string,
      body: string,
      until: AbortSignal,
      headers: Record<string, string> = {},
    ): Promise<AiAnswer> => this.#request(caller, key, { path, body, headers, signal: until })
    const answer = await request(TOOL_CALL_PATH, text, signal, { [TOOL_CALL_HEADER]: JSON.stringify(order) })
    if (answer.status >= 400) return failureOf(answer)
    const asks = server.isInteractive ? askedClient(server, call.client, request) : null
    return this.#admitted(
      { ...call, input },
      { ...found, asks, userId, isCaptured: answer.headers.has(CAPTURES_RESULT_HEADER) },
      answer,
    )
  }

  #payingKey(caller: McpCaller, server: ToolServer, keyId: unknown): Promise<EntryKey> {
    const { database } = this.#options
    const isAdmin = caller.kind === 'user' && caller.user.role === 'admin'
    return payingKey(database, caller, {
      keyId,
      model: undefined,
      argument: KEY_ARGUMENT,
      // A tenant without rights to the server does not pay for one that has them.
      mayPay: async (key) => isAdmin || mayUse(server, await rightsOfKey(database, key)),
    })
  }

  /** Has a front serve a request that the key pays. */
  #request(
    { origin: { address, userAgent, traceparent } }: McpCaller,
    { digest: keyDigest }: EntryKey,
    { path, body, headers, signal }: InnerRequest,
  ): Promise<AiAnswer> {
    const trace = traceparent === undefined ? {} : { traceparent }
    const all = { 'content-type': 'application/json', 'user-agent': userAgent, ...trace, ...headers }
    const bytes = Buffer.from(body)
    return this.#options.requestAi({ method: 'POST', path, headers: all, address, keyDigest, body: bytes }, signal)
  }

  /** Makes the call, and tells the front its end. The outcome is returned once its record is durable. */
  async #admitted(call: ToolCall, found: Asked, answer: AiAnswer): Promise<ToolOutcome> {
    const ends = new AbortController()
    const recorded = drain(answer).catch((cause: unknown) => {
      ends.abort()
      throw cause
    })
    // It is awaited below; a failure before that ends the call.
    recorded.catch(() => undefined)
    const made = await this.#make({ ...call, signal: AbortSignal.any([call.signal, ends.signal]) }, found)
    answer.report(made.report)
    await recorded
    if (made.failure !== null) throw made.failure
    return made.outcome
  }

  async #make(call: ToolCall, { server, tool, asks, userId, isCaptured }: Asked): Promise<Made> {
    const { book } = this.#options
    const { input, signal, progress } = call
    try {
      const seen = await book.keepFresh(server, userId, signal)
      const now = (await book.servers()).find((one) => one.server.id === server.id)
      const known = [...(now?.tools.values() ?? [])].find(({ name }) => name === tool.name)
      const { definition, digest } = allowedOf(known ?? tool)
      if (seen !== null) refuseOtherDefinition(seen.get(tool.name), digest)
      // Here, within the limits of the key: a schema may make it slow.
      this.#arguments.check(digest, definition.inputSchema, input)
      const result = await book.clientOf(server, userId).callTool(definition, input, { signal, progress, asks })
      return madeOf(result, isCaptured)
    } catch (cause) {
      // The client of the server has told its failures apart: anything else is a fault of ours.
      const failure = GatewayError.from(cause)
      const { code, message } = failure
      return { failure, report: { error: { code, message }, resultBytes: null, result: null } }
    }
  }

  async #find(caller: McpCaller, name: string): Promise<Found | null> {
    if (!isForKey(caller, name)) return null
    for (const { server, tools } of await this.#serversFor(caller)) {
      const tool = tools.get(name)
      // One that was never allowed is as none, also for who guesses its name.
      if (tool?.allowed !== null && tool !== undefined) return { server, tool }
    }
    return null
  }

  async #serversFor(caller: McpCaller): Promise<readonly BookedServer[]> {
    const { book, database } = this.#options
    const servers = (await book.servers()).filter(({ server }) => server.enabled)
    if (servers.length === 0) return []
    const rights = await rightsOf(database, caller)
    return servers.filter(({ server }) => mayUse(server, rights))
  }
}

type Made =
  | { readonly failure: null; readonly outcome: ToolOutcome; readonly report: ToolCallReport }
  | { readonly failure: GatewayError; readonly report: ToolCallReport }

function madeOf({ content, structuredContent, isError }: CallToolResult, isCaptured: boolean): Made {
  const structured = (structuredContent ?? null) as Json | null
  const text = JSON.stringify({ content, ...(structured === null ? {} : { structuredContent: structured }) })
  if (isDeeper({ content, structured }, MAX_RESULT_DEPTH)) {
    throw new GatewayError('UPSTREAM_INVALID_ANSWER', { message: 'The result of the tool is nested too deeply.' })
  }
  const hasFailed = isError === true
  return {
    failure: null,
    outcome: {
      isError: false,
      content,
      structured,
      ...(hasFailed ? { hasFailed } : {}),
    },
    report: {
      error: hasFailed ? { code: 'UPSTREAM_ERROR', message: 'The tool says that it failed.' } : null,
      resultBytes: Buffer.byteLength(text),
      result: isCaptured ? text : null,
    },
  }
}

/** Throws TOOLS_DENIED for a tool that is held. */
function allowedOf(tool: ServerTool): { readonly definition: ToolDefinition; readonly digest: string } {
  const { allowed, allowedDigest } = tool
  const state = stateOfTool(tool)
  if (state === 'allowed' && allowed !== null && allowedDigest !== null) {
    return { definition: allowed, digest: allowedDigest }
  }
  const message =
    state === 'gone'
      ? 'The server does not have this tool any more.'
      : 'The server has changed this tool since an admin allowed it. The tool is held until an admin allows it again.'
  throw new GatewayError('TOOLS_DENIED', { message })
}

function isForKey(caller: McpCaller, name: string): boolean {
  return caller.kind === 'user' || keyAllows(caller.key, name)
}

function shownTool(name: string, server: ToolServer, definition: ToolDefinition, caller: McpCaller): Tool {
  const { inputSchema, outputSchema, description, annotations } = definition
  const title = definition.title ?? definition.name
  const hint = (member: string, otherwise: boolean): boolean =>
    typeof annotations[member] === 'boolean' ? annotations[member] : otherwise
  return {
    name,
    title,
    description: description === '' ? `${title}, a tool of ${server.id}.` : description,
    inputSchema: (caller.kind === 'user' ? withKey(inputSchema) : inputSchema) as unknown as ObjectSchema,
    ...(outputSchema === null ? {} : { outputSchema: outputSchema as unknown as ObjectSchema }),
    annotations: {
      title,
      readOnlyHint: hint('readOnlyHint', false),
      destructiveHint: hint('destructiveHint', true),
      idempotentHint: hint('idempotentHint', false),
      openWorldHint: hint('openWorldHint', true),
    },
  }
}

function hasOwnKeyArgument({ properties }: Json): boolean {
  return typeof properties === 'object' && properties !== null && Object.hasOwn(properties, KEY_ARGUMENT)
}

function withKey(schema: Json): Json {
  if (hasOwnKeyArgument(schema)) return schema
  return { ...schema, properties: { ...(schema['properties'] as Json | undefined), [KEY_ARGUMENT]: KEY_SCHEMA } }
}

function withoutKey(sent: Json, { inputSchema }: ToolDefinition): { readonly keyId: unknown; readonly input: Json } {
  if (hasOwnKeyArgument(inputSchema)) return { keyId: undefined, input: sent }
  const { [KEY_ARGUMENT]: keyId, ...input } = sent
  return { keyId, input }
}

/** Rejects when the front breaks it off. */
async function drain({ body }: AiAnswer): Promise<void> {
  const chunks = body[Symbol.asyncIterator]()
  while ((await chunks.next()).done !== true);
}
