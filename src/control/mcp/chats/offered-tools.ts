import { randomBytes } from 'node:crypto'
import { GatewayError } from '../../../shared/core/errors.ts'
import { fieldName } from '../../../shared/core/field-error.ts'
import type { ApprovalRule, NamedServer, ToolFilter } from '../../../shared/endpoints/named-servers.ts'
import type { Tool } from '../tool-source.ts'

/** A tool of a server, as the model knows it. */
export interface OfferedTool {
  /** The name of the function: that of the tool as far as a function may have it. */
  readonly functionName: string
  readonly server: string
  readonly tool: Tool
  /** The client must approve each call of it. */
  readonly needsApproval: boolean
}

/** The tools of one server that a model may call. */
export interface OfferedServer {
  readonly label: string
  readonly tools: readonly OfferedTool[]
}

export interface OfferTerms {
  /** The tools that the key may use, by server. */
  readonly tools: ReadonlyMap<string, readonly Tool[]>
  /** Names of the client's functions. */
  readonly taken: ReadonlySet<string>
  readonly maxTools: number
}

/** The longest name of a function at the providers. */
const MAX_NAME = 64

/**
 * The tools of the servers that a request names. Throws INVALID_FIELD for a server or a tool that the key has not got, and for too many tools.
 */
export function offerTools(servers: readonly NamedServer[], { tools, taken, maxTools }: OfferTerms): OfferedServer[] {
  const names = new Set(taken)
  let count = 0
  return servers.map(({ label, allowedTools, deniedTools, readOnly, approval, places }) => {
    const all = tools.get(label)
    if (all === undefined) {
      const known = [...tools.keys()].map((one) => JSON.stringify(one)).join(', ')
      const message = `There is no tool server of this name for this API key. It may use: ${known === '' ? 'none' : known}.`
      throw new GatewayError('INVALID_FIELD', { param: places.label, message })
    }
    const unknown = allowedTools?.find((name) => !all.some((tool) => isNamed(tool, label, name)))
    if (unknown !== undefined) {
      const message = `The server ${JSON.stringify(label)} has no tool ${JSON.stringify(unknown.slice(0, 128))} for this API key.`
      throw new GatewayError('INVALID_FIELD', { param: places.tools, message })
    }
    const asked = approval.always?.toolNames?.find((name) => !all.some((tool) => isNamed(tool, label, name)))
    if (asked !== undefined) {
      const message = `The server ${JSON.stringify(label)} has no tool ${JSON.stringify(asked.slice(0, 128))} for this API key.`
      throw new GatewayError('INVALID_FIELD', { param: places.approval, message })
    }
    const chosen = all.filter(
      (tool) =>
        (allowedTools?.some((name) => isNamed(tool, label, name)) ?? true) &&
        !deniedTools.some((name) => isNamed(tool, label, name)) &&
        (!readOnly || tool.annotations.readOnlyHint),
    )
    count += chosen.length
    if (count > maxTools) {
      const message = `More than ${maxTools} tools of servers are offered: name those that matter in ${fieldName(places.tools)}.`
      throw new GatewayError('INVALID_FIELD', { param: places.tools, message })
    }
    const offered = chosen.map((tool) => ({
      functionName: functionName(tool.name, names),
      server: label,
      tool,
      needsApproval: needsApproval(tool, label, approval),
    }))
    return { label, tools: offered }
  })
}

/** Tools of upstream servers have their server's name in front; clients may leave it out. */
export function isNamed(tool: Tool, label: string, name: unknown): boolean {
  return tool.name === name || (typeof name === 'string' && tool.name === `${label}__${name}`)
}

/** A tool of both lists needs approval; one of neither, where there is no list of those that need none, follows the default. */
function needsApproval(tool: Tool, label: string, { byDefault, always, never }: ApprovalRule): boolean {
  const fits = ({ toolNames, readOnly }: ToolFilter): boolean =>
    (toolNames?.some((name) => isNamed(tool, label, name)) ?? true) &&
    (readOnly === null || readOnly === tool.annotations.readOnlyHint)
  if (always !== null && fits(always)) return true
  return never === null ? byDefault : !fits(never)
}

/** A name that no other function of the request has; it is added to `names`. */
function functionName(name: string, names: Set<string>): string {
  const plain = name.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, MAX_NAME)
  let chosen = plain
  for (let number = 2; names.has(chosen); number++) {
    const ending = `_${number}`
    chosen = plain.slice(0, MAX_NAME - ending.length) + ending
  }
  names.add(chosen)
  return chosen
}

/** The id of an item of tools, like `mcp_…` and `mcpl_…` of the responses API, and of a block, like `mcptoolu_…` of the messages API. */
export function itemId(prefix: 'mcp' | 'mcpl' | 'mcptoolu'): string {
  return `${prefix}_${randomBytes(18).toString('hex')}`
}

/** The tool that `tool_choice` names as one of a server; null: it names none. Throws INVALID_FIELD. */
export function chosenTool(choice: unknown, servers: readonly OfferedServer[]): OfferedTool | null {
  if (typeof choice !== 'object' || choice === null) return null
  const { type, server_label: label, name } = choice as Readonly<Record<string, unknown>>
  if (type !== 'mcp') return null
  const tools = servers.find((server) => server.label === label)?.tools
  if (tools === undefined) throw badChoice('server_label', 'must name a server of tools')
  const tool = tools.find((one) => isNamed(one.tool, String(label), name))
  if (tool === undefined) throw badChoice('name', 'must name a tool of the server')
  return tool
}

function badChoice(member: string, why: string): GatewayError {
  const param = `/tool_choice/${member}`
  return new GatewayError('INVALID_FIELD', { param, message: `tool_choice.${member} ${why}.` })
}
