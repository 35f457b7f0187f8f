import type { ResponsesRequest } from '../../shared/api/responses.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import { fieldName } from '../../shared/core/field-error.ts'
import type { RequestFields } from './request-fields.ts'

/** Fields that lead to what is stored at a server, or run there. */
const STATEFUL = ['previous_response_id', 'conversation', 'prompt'] as const

/** What an item must hold, by its type. */
const REQUIRED: ReadonlyMap<string, readonly string[]> = new Map([
  ['message', ['role', 'content']],
  ['reasoning', []],
  ['function_call', ['call_id', 'name', 'arguments']],
  ['function_call_output', ['call_id', 'output']],
  ['custom_tool_call', ['call_id', 'name', 'input']],
  ['custom_tool_call_output', ['call_id', 'output']],
])

type Tool = Omit<NonNullable<ResponsesRequest['tools']>[number], 'tools'> & { readonly tools?: readonly Tool[] }

/** What is left of tools that ran at a server, without which the conversation still makes sense. */
const PASSED_OVER: ReadonlySet<string> = new Set([
  'web_search_call',
  'file_search_call',
  'code_interpreter_call',
  'image_generation_call',
  'mcp_call',
  'mcp_list_tools',
])

/** Throws INVALID_FIELD or UNSUPPORTED_FIELD for what a gateway that keeps nothing cannot do. */
export function responsesFields(request: ResponsesRequest): RequestFields {
  const fields: Readonly<Record<string, unknown>> = request
  for (const name of STATEFUL) {
    if (fields[name] !== undefined && fields[name] !== null) throw unsupported(`/${name}`, 'nothing is stored here')
  }
  if (request.store === true) throw unsupported('/store', 'nothing is stored here; send false')
  if (request.background === true) throw unsupported('/background', 'answers come at once; send false')
  const { input } = request
  // The service takes instructions alone.
  if ((input?.length ?? 0) === 0 && (request.instructions ?? '') === '') {
    const message = 'input must not be empty where there are no instructions.'
    throw new GatewayError('INVALID_FIELD', { param: '/input', message })
  }
  if (typeof input === 'object' && input !== null) input.forEach(checkItem)
  request.tools?.forEach((tool, index) => checkTool(tool, `/tools/${index}`))
  checkToolChoice(request.tool_choice)
  return {
    model: request.model,
    stream: request.stream ?? false,
    wantsUsage: true,
    maxOutputTokens: request.max_output_tokens ?? null,
    choices: 1,
    hasTools: (request.tools?.length ?? 0) > 0,
    expected: null,
  }
}

function checkItem(item: Readonly<Record<string, unknown>>, index: number): void {
  const type = typeof item['type'] === 'string' ? item['type'] : 'message'
  const required = REQUIRED.get(type)
  if (required === undefined) {
    if (PASSED_OVER.has(type)) return
    throw unsupported(`/input/${index}/type`, `${quoted(type)} belongs to what is stored or run at a server`)
  }
  for (const name of required) {
    const value = item[name]
    if (value === undefined || (value === null && name !== 'content')) throw missing(`/input/${index}/${name}`)
  }
}

/** What a provider runs is for its upstream to have or not; what the client runs must have a name. */
function checkTool({ type, name, tools }: Tool, place: string): void {
  if (type !== 'function' && type !== 'custom' && type !== 'namespace') return
  if (name === undefined || name === '') throw missing(`${place}/name`)
  if (type !== 'namespace') return
  if (tools === undefined || tools.length === 0) throw missing(`${place}/tools`)
  tools.forEach((tool, index) => {
    const inGroup = `${place}/tools/${index}`
    if (tool.type !== 'function' && tool.type !== 'custom') {
      throw unsupported(`${inGroup}/type`, `a namespace holds functions and custom tools, not ${quoted(tool.type)}`)
    }
    checkTool(tool, inGroup)
  })
}

function checkToolChoice(choice: ResponsesRequest['tool_choice']): void {
  if (typeof choice !== 'object' || choice === null) return
  if (typeof choice['type'] !== 'string') throw missing('/tool_choice/type')
}

/** Long enough for every name there is. */
function quoted(type: string): string {
  return JSON.stringify(type.slice(0, 40))
}

function missing(param: string): GatewayError {
  return new GatewayError('INVALID_FIELD', { param, message: `${fieldName(param)} is required.` })
}

function unsupported(param: string, why: string): GatewayError {
  return new GatewayError('UNSUPPORTED_FIELD', { param, message: `${fieldName(param)} cannot be used: ${why}.` })
}
