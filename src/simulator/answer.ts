import { toolsOf, withoutSteering, type Behaviour, type ToolAnswer } from './behaviour.ts'
import type { Prompt } from './prompt.ts'
import { exampleOf } from './schema-example.ts'
import { countTokens, splitTokens, TextPieces, VocabularyPieces, type Pieces } from './tokens.ts'

export interface PlannedCall {
  readonly name: string
  /** Tokens of the name. They come with the first event of the call. */
  readonly nameTokens: number
  /** The arguments' JSON text, one string per token. */
  readonly argumentPieces: readonly string[]
}

/** The content of one choice of an answer. All choices of a request have the same content. */
export interface Answer {
  readonly text: Pieces
  readonly calls: readonly PlannedCall[]
  readonly finish: 'stop' | 'length' | 'call'
  /** Tokens of one choice: its pieces and the names of its calls. */
  readonly completionTokens: number
}

/** Plans the content: what the behaviour asks for, else a tool call that the request asks for, else an echo. */
export function planAnswer(prompt: Prompt, behaviour: Behaviour): Answer {
  const limit = prompt.maxTokens ?? Infinity
  const tools = toolsToCall(prompt, behaviour)
  const text = planText(prompt, behaviour, tools.length > 0, limit)
  let left = limit - text.pieces.length
  let cut = text.cut
  const calls: PlannedCall[] = []
  for (const tool of tools) {
    const call = planCall(tool)
    if (call.nameTokens > left) {
      cut = true
      break
    }
    const pieces = call.argumentPieces.slice(0, left - call.nameTokens)
    if (pieces.length < call.argumentPieces.length) cut = true
    calls.push({ ...call, argumentPieces: pieces })
    left -= call.nameTokens + pieces.length
  }
  let completionTokens = text.pieces.length
  for (const call of calls) completionTokens += call.nameTokens + call.argumentPieces.length
  return {
    text: text.pieces,
    calls,
    finish: cut ? 'length' : calls.length > 0 ? 'call' : 'stop',
    completionTokens,
  }
}

const ECHOED_TOKENS = 8
const NO_TEXT: Pieces = new TextPieces([])

function planText(
  prompt: Prompt,
  behaviour: Behaviour,
  calls: boolean,
  limit: number,
): { readonly pieces: Pieces; readonly cut: boolean } {
  if (behaviour.text === undefined && behaviour.tokens !== undefined) {
    const length = Math.min(behaviour.tokens, limit)
    return { pieces: new VocabularyPieces(length), cut: length < behaviour.tokens }
  }
  if (behaviour.text === undefined && calls) return { pieces: NO_TEXT, cut: false }
  const pieces = splitTokens(behaviour.text ?? defaultText(prompt, behaviour))
  return { pieces: new TextPieces(pieces.slice(0, limit)), cut: pieces.length > limit }
}

function defaultText(prompt: Prompt, behaviour: Behaviour): string {
  const said = prompt.toolResult ?? withoutSteering(prompt.lastUserText)
  const echo = splitTokens(said.slice(0, 400), ECHOED_TOKENS).join('').trim()
  const opening = prompt.toolResult === null ? 'You said' : 'The tool said'
  // `split-utf8` needs characters of more than one byte.
  const ending = behaviour.fault === 'split-utf8' ? ' — gehört, 了解 👍🏽 naïve café.' : ''
  return `${opening}: ${echo === '' ? 'nothing' : echo}${ending}`
}

function toolsToCall(prompt: Prompt, behaviour: Behaviour): readonly ToolAnswer[] {
  const wanted = toolsOf(behaviour)
  if (wanted.length > 0) return wanted
  if (behaviour.text !== undefined || behaviour.tokens !== undefined || prompt.tools.length === 0) return []
  const choice = prompt.toolChoice
  if (choice.mode === 'none') return []
  const named =
    choice.mode === 'named'
      ? prompt.tools.find((tool) => tool.name === choice.name)
      : prompt.toolResult === null
        ? prompt.tools.find((tool) => mentions(prompt.lastUserText, tool.name))
        : undefined
  const tool = named ?? (choice.mode === 'any' ? prompt.tools[0] : undefined)
  return tool === undefined ? [] : [{ name: tool.name, arguments: exampleOf(tool.schema) }]
}

function mentions(text: string, tool: string): boolean {
  const at = text.toLowerCase().indexOf(`use ${tool.toLowerCase()}`)
  return at !== -1 && !/[\w-]/.test(text.charAt(at + 4 + tool.length))
}

function planCall(tool: ToolAnswer): PlannedCall {
  const given = tool.arguments ?? {}
  const json = typeof given === 'string' ? given : JSON.stringify(given)
  return { name: tool.name, nameTokens: countTokens(tool.name), argumentPieces: splitTokens(json) }
}
