import { randomUUID } from 'node:crypto'
import {
  inputRequired,
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  Server,
} from '@modelcontextprotocol/server'
import type {
  CallToolResult,
  CreateMessageRequest,
  ElicitRequestFormParams,
  ServerContext,
  Tool as ProtocolTool,
} from '@modelcontextprotocol/server'
import type { McpCaller } from './callers.ts'
import { NO_VALIDATION } from './no-validation.ts'
import { listPrompts, promptText } from './prompts.ts'
import type { Resources } from './resources.ts'
import type { ApiError, Json, Tool, ToolCall, ToolClient, ToolOutcome } from './tool-source.ts'
import type { Tools } from './tools.ts'

export interface ProtocolServerParts {
  readonly tools: Tools
  readonly resources: Resources
  readonly version: string
  /** A client gets its list of tools. */
  readonly onListed: (subject: string, tools: readonly Tool[]) => void
  readonly onFault: (cause: unknown) => void
}

const INSTRUCTIONS =
  'The tools of an AI model gateway. list_models names the models; chat_completion asks one, paid by one of your keys. Statistics and logs tell what requests cost and how they ended. Money is in millionths of the currency.'

/** People may take this long to answer. The time-out of the call ends it before. */
const ASK_MS = 3_600_000

/** Names the page among the questions of a result. */
const PAGE = 'page'

/** The transport's part in a call. */
export interface CallPlace {
  /** The call was cancelled: no response to it is sent. */
  readonly onCancelled: (requestId: string | number) => void
}

/**
 * A protocol server of the SDK for one session, or for one request of the stateless revision. The caller of each message is in its
 * `authInfo`.
 */
export function createProtocolServer(parts: ProtocolServerParts, place: CallPlace | null = null): Server {
  const { tools, resources, version, onListed, onFault } = parts
  const server = new Server(
    { name: 'sluice', title: 'Sluice', version },
    {
      capabilities: { tools: { listChanged: true }, resources: {}, prompts: {} },
      instructions: INSTRUCTIONS,
      jsonSchemaValidator: NO_VALIDATION,
    },
  )
  // Messages of clients that are not well-formed: their senders hear of them.
  server.onerror = ignore
  server.setRequestHandler('tools/list', async (_, ctx) => {
    const caller = callerOf(ctx)
    const listed = await guarded(onFault, () => tools.list(caller))
    onListed(caller.subject, listed)
    return { tools: listed as unknown as ProtocolTool[] }
  })
  server.setRequestHandler('tools/call', async ({ params }, ctx) => {
    const { signal, id } = ctx.mcpReq
    const cancelled = (): void => place?.onCancelled(id)
    signal.addEventListener('abort', cancelled, { once: true })
    const { name, arguments: input = {} } = params
    const pages = pagesOf(server, ctx)
    try {
      const outcome = await tools.call({
        caller: callerOf(ctx),
        name,
        input,
        signal,
        progress: progressOf(ctx, onFault),
        client: place === null ? pages.client : clientOf(server, ctx),
      })
      if (pages.asked !== null)
        return inputRequired({ inputRequests: { [PAGE]: inputRequired.elicitUrl(pages.asked) } })
      if (outcome === null) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${name}`)
      return resultOf(outcome) as CallToolResult
    } finally {
      signal.removeEventListener('abort', cancelled)
    }
  })
  server.setRequestHandler('resources/list', async (_, ctx) => ({
    resources: await guarded(onFault, () => resources.list(callerOf(ctx))),
  }))
  server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: [] }))
  server.setRequestHandler('resources/read', async ({ params: { uri } }, ctx) => {
    const found = await guarded(onFault, () => resources.read(callerOf(ctx), uri))
    if (found === null) throw new ResourceNotFoundError(uri)
    return { contents: [{ ...found }] }
  })
  server.setRequestHandler('prompts/list', (_, ctx) => ({
    prompts: listPrompts(callerOf(ctx)).map((prompt) => ({ ...prompt, arguments: [...prompt.arguments] })),
  }))
  server.setRequestHandler('prompts/get', ({ params: { name, arguments: given = {} } }, ctx) => {
    const prompt = promptText(callerOf(ctx), name, given)
    if (prompt === null) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown prompt: ${name}`)
    if ('missing' in prompt) {
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `The prompt needs the argument ${prompt.missing}.`)
    }
    const { description, text } = prompt
    return { description, messages: [{ role: 'user' as const, content: { type: 'text' as const, text } }] }
  })
  return server
}

/** The result of a call, in the protocol and at `POST /mcp/tools/{name}`. */
export function resultOf(outcome: ToolOutcome): Json {
  if (outcome.isError) {
    return { content: [{ type: 'text', text: errorText(outcome.error) }], isError: true }
  }
  const { content, structured, hasFailed = false } = outcome
  return { content, ...(structured === null ? {} : { structuredContent: structured }), isError: hasFailed }
}

/** For models: what is wrong, where, and its name. */
function errorText({ message, code, param, request_id: requestId }: ApiError): string {
  const details = [code, ...(param === null ? [] : [`param ${param}`]), ...(requestId === '' ? [] : [requestId])]
  return `${message} (${details.join(', ')})`
}

function ignore(): void {
  // Nothing to do.
}

function callerOf(ctx: ServerContext): McpCaller {
  const caller = ctx.http?.authInfo?.extra?.['caller']
  if (caller === undefined) throw new ProtocolError(ProtocolErrorCode.InternalError, 'Internal error')
  return caller as McpCaller
}

function clientOf(server: Server, { mcpReq }: ServerContext): ToolClient {
  const { elicitation, sampling } = server.getClientCapabilities() ?? {}
  // A client that names no mode has forms.
  const hasForms = elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined)
  // On the stream of the call: the client may have no other one, or have it at another machine.
  const asked = (signal: AbortSignal) => ({ signal, timeout: ASK_MS, relatedRequestId: mcpReq.id })
  return {
    open:
      elicitation?.url === undefined
        ? null
        : async ({ url, message }, signal) => {
            const params = { mode: 'url' as const, url, message, elicitationId: randomUUID() }
            return (await mcpReq.elicitInput(params, asked(signal))).action === 'accept'
          },
    elicit: !hasForms
      ? null
      : (params, signal) => mcpReq.elicitInput(params as unknown as ElicitRequestFormParams, asked(signal)),
    sample:
      sampling === undefined
        ? null
        : (params, signal) =>
            mcpReq.requestSampling(params as unknown as CreateMessageRequest['params'], asked(signal)),
  }
}

interface Pages {
  readonly client: ToolClient
  /** The page that the client has to show before it sends the call again. */
  asked: { readonly url: string; readonly message: string } | null
}

/**
 * The client of a call without a session: there is no way back to it during the call. A page is the result, with which the client sends
 * the call again (multi round-trip requests of revision 2026-07-28).
 */
function pagesOf(server: Server, { mcpReq }: ServerContext): Pages {
  const answer = mcpReq.inputResponses?.[PAGE] as { readonly action?: unknown } | undefined
  const canOpen = server.getClientCapabilities()?.elicitation?.url !== undefined
  const pages: Pages = {
    asked: null,
    client: {
      elicit: null,
      sample: null,
      open: !canOpen
        ? null
        : (page) => {
            if (answer === undefined) pages.asked = page
            return Promise.resolve(answer?.action === 'accept')
          },
    },
  }
  return pages
}

function progressOf({ mcpReq }: ServerContext, onFault: (cause: unknown) => void): ToolCall['progress'] {
  const progressToken = mcpReq._meta?.progressToken
  if (progressToken === undefined) return null
  return (progress, message, total) => {
    const params = { progressToken, progress, message, ...(total === undefined ? {} : { total }) }
    mcpReq.notify({ method: 'notifications/progress', params }).catch((cause: unknown) => {
      // After a cancellation nobody is told.
      if (!mcpReq.signal.aborted) onFault(cause)
    })
  }
}

/** Keeps the text of unexpected errors from clients. */
async function guarded<Value>(onFault: (cause: unknown) => void, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work()
  } catch (cause) {
    onFault(cause)
    throw new ProtocolError(ProtocolErrorCode.InternalError, 'Internal error')
  }
}
