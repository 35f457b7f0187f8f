import { GatewayError } from '../../shared/core/errors.ts'
import { newRequestId } from '../../shared/core/request-id.ts'
import { OWN_SERVER } from '../../shared/core/tool-server.ts'
import type { McpCaller } from './callers.ts'
import { failedOutcome } from './tool-source.ts'
import type { Tool, ToolCall, ToolOutcome, ToolSource } from './tool-source.ts'

/** A result of a tool: clients and models take no larger ones. The protocol sends it twice, as text and as an object. */
const MAX_RESULT_BYTES = 3 * 1024 * 1024
/** Calls that one user or key may have under way. */
const MAX_CALLS_OF_SUBJECT = 32
const MAX_CALLS = 512

/** All tools of all sources: lists what a caller may use, and calls it within bounds. */
export class Tools {
  readonly #sources: readonly ToolSource[]
  readonly #onFault: (cause: unknown) => void
  readonly #running = new Map<string, number>()
  #calls = 0

  constructor(sources: readonly ToolSource[], onFault: (cause: unknown) => void) {
    this.#sources = sources
    this.#onFault = onFault
  }

  async list(caller: McpCaller): Promise<Tool[]> {
    const lists = await Promise.all(this.#sources.map((source) => source.list(caller)))
    return lists.flat()
  }

  /** The tools that a caller may use, by the server that they belong to. */
  async listByServer(caller: McpCaller): Promise<ReadonlyMap<string, readonly Tool[]>> {
    const servers = new Map<string, Tool[]>()
    for (const source of this.#sources) {
      for (const tool of await source.list(caller)) {
        const server = source.serverOf?.(tool.name) ?? OWN_SERVER
        const known = servers.get(server)
        if (known === undefined) servers.set(server, [tool])
        else known.push(tool)
      }
    }
    return servers
  }

  /** Calls a tool. Null: the caller has no tool of this name. Failures are outcomes, also unexpected ones. */
  async call(call: ToolCall): Promise<ToolOutcome | null> {
    try {
      const source = await this.#sourceOf(call)
      if (source === null) return null
      const outcome = await this.#bounded(call.caller.subject, () => source.call(call))
      refuseTooLarge(outcome)
      return outcome
    } catch (cause) {
      const error = GatewayError.from(cause)
      if (error.code === 'INTERNAL') this.#onFault(cause)
      const { type, message, code, param, status } = error
      return failedOutcome(status, { type, message, code, param, request_id: newRequestId(Date.now()) })
    }
  }

  async #sourceOf({ caller, name }: ToolCall): Promise<ToolSource | null> {
    for (const source of this.#sources) {
      const isItsOwn =
        source.has === undefined
          ? (await source.list(caller)).some((tool) => tool.name === name)
          : await source.has(caller, name)
      if (isItsOwn) return source
    }
    return null
  }

  async #bounded(subject: string, work: () => Promise<ToolOutcome>): Promise<ToolOutcome> {
    const own = this.#running.get(subject) ?? 0
    if (own >= MAX_CALLS_OF_SUBJECT || this.#calls >= MAX_CALLS) {
      const message =
        own >= MAX_CALLS_OF_SUBJECT ? 'Too many of your tool calls are under way.' : 'Too many tool calls.'
      throw new GatewayError('CONCURRENCY_EXCEEDED', { message, retryAfterSeconds: 1 })
    }
    this.#running.set(subject, own + 1)
    this.#calls += 1
    try {
      return await work()
    } finally {
      this.#calls -= 1
      const left = (this.#running.get(subject) ?? 1) - 1
      if (left === 0) this.#running.delete(subject)
      else this.#running.set(subject, left)
    }
  }
}

/** Throws UPSTREAM_BODY_TOO_LARGE. */
function refuseTooLarge(outcome: ToolOutcome): void {
  if (outcome.isError) return
  const sizes = outcome.content.map((one) => (typeof one['text'] === 'string' ? one['text'].length : 0))
  const size = sizes.reduce((sum, one) => sum + one, 0)
  if (size <= MAX_RESULT_BYTES) return
  const message = `The result has ${size} characters, which is too much for a tool: ask for less.`
  throw new GatewayError('UPSTREAM_BODY_TOO_LARGE', { message })
}
