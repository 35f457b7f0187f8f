import { invalid } from '../../../shared/endpoints/named-servers.ts'
import type { Json } from '../tool-source.ts'
import type { Approvals } from './approvals.ts'
import type { CallResult, ModelCall } from './chat.ts'
import { list, text } from './json-values.ts'
import { itemId } from './offered-tools.ts'
import type { OfferedTool } from './offered-tools.ts'

/** The input of a responses request, as the model gets it. */
export interface ReadInput {
  readonly items: Json[]
  /** Servers whose list the input has. */
  readonly listed: ReadonlySet<string>
  /** Calls that the client has approved, and that are not made yet. */
  readonly approved: readonly ModelCall[]
  /** Gives the model the result of an approved call. */
  readonly answer: (callId: string, result: CallResult) => void
}

/** Items that are about approvals: https://platform.openai.com/docs/guides/tools-connectors-mcp. */
const REQUEST = 'mcp_approval_request'
const RESPONSE = 'mcp_approval_response'

/**
 * Reads the items of tools of servers: calls become calls of functions with their results, approved ones without, and refused ones with the
 * refusal. Throws INVALID_FIELD for an approval of something that the gateway did not ask.
 */
export function readInput(input: unknown, offered: readonly OfferedTool[], approvals: Approvals): ReadInput {
  const sent: readonly Json[] = typeof input === 'string' ? [{ role: 'user', content: input }] : list(input)
  const made = new Set(sent.filter(isCall).map(({ approval_request_id: id }) => id))
  const answers = answersOf(sent)
  const waiting = new Map<string, Record<string, unknown>>()
  const approved: ModelCall[] = []
  const items = sent.flatMap((item, index): Json[] => {
    const { type, id } = item
    if (isCall(item)) return earlierCall(item, offered)
    if (type !== REQUEST) return type === RESPONSE || isList(item) ? [] : [item]
    const answer = answers.get(text(id))
    // Its call is in the input, or the client went on without an answer.
    if (made.has(id) || answer === undefined) return []
    const tool = offeredOf(item, offered)
    if (answer['approve'] !== true) return tool === null ? [] : refusedCall(item, tool, answer['reason'])
    if (tool === null) throw invalid(`/input/${index}/name`, 'names a tool that this request does not offer')
    const asked = { server: tool.server, tool: tool.tool.name, input: text(item['arguments']) }
    if (!approvals.isOf(text(id), asked)) {
      throw invalid(
        `/input/${index}`,
        'is not an approval request that the gateway made for this API key, tool and arguments within a day; send it back as it was',
      )
    }
    const callId = callIdOf(id)
    const output = outputOf(callId, '')
    waiting.set(callId, output)
    approved.push({ callId, itemId: itemId('mcp'), offered: tool, input: asked.input, approval: text(id) })
    return [callOf(callId, tool, asked.input), output]
  })
  return {
    items,
    listed: new Set(sent.filter(isList).map(({ server_label: label }) => text(label))),
    approved,
    answer: (callId, { output, error }) => {
      const item = waiting.get(callId)
      if (item !== undefined) item['output'] = output ?? error
    },
  }
}

export function outputOf(callId: string, output: string): Record<string, unknown> {
  return { type: 'function_call_output', call_id: callId, output }
}

/** The answers to approval requests, by the id of the request. */
function answersOf(sent: readonly Json[]): Map<string, Json> {
  const asked = new Set(sent.filter(({ type }) => type === REQUEST).map(({ id }) => id))
  const answers = new Map<string, Json>()
  for (const [index, item] of sent.entries()) {
    if (item['type'] !== RESPONSE) continue
    const place = `/input/${index}`
    const { approval_request_id: id, approve } = item
    if (typeof approve !== 'boolean') throw invalid(`${place}/approve`, 'must be true or false')
    if (!asked.has(id)) {
      throw invalid(
        `${place}/approval_request_id`,
        'must be the id of an mcp_approval_request of the input: nothing is stored here, so send that item back, too',
      )
    }
    if (answers.has(text(id))) throw invalid(`${place}/approval_request_id`, 'is answered twice')
    answers.set(text(id), item)
  }
  return answers
}

/** A call of an earlier response, as the model knows it: with its result, which is a part of the conversation. */
function earlierCall(item: Json, offered: readonly OfferedTool[]): Json[] {
  const tool = offeredOf(item, offered)
  if (tool === null) return []
  const { id, arguments: input, output, error } = item
  const callId = callIdOf(id)
  const said = typeof output === 'string' ? output : typeof error === 'string' ? error : JSON.stringify(error ?? '')
  return [callOf(callId, tool, text(input)), outputOf(callId, said)]
}

function refusedCall({ id, arguments: input }: Json, tool: OfferedTool, reason: unknown): Json[] {
  const callId = callIdOf(id)
  const why = typeof reason === 'string' && reason !== '' ? ` The reason: ${reason}` : ''
  return [callOf(callId, tool, text(input)), outputOf(callId, `The user did not approve this call.${why}`)]
}

function callOf(callId: string, { functionName }: OfferedTool, input: string): Json {
  return { type: 'function_call', call_id: callId, name: functionName, arguments: input }
}

/** Providers take ids of 64 characters. */
function callIdOf(id: unknown): string {
  return `call_${text(id).replace(/^mcpr?_/, '')}`.slice(0, 64)
}

function offeredOf({ server_label: label, name }: Json, offered: readonly OfferedTool[]): OfferedTool | null {
  return offered.find((one) => one.server === label && one.tool.name === name) ?? null
}

function isCall({ type }: Json): boolean {
  return type === 'mcp_call'
}

function isList({ type }: Json): boolean {
  return type === 'mcp_list_tools'
}
