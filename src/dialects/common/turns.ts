import { textBlock, toolResultBlock } from '../../shared/core/content.ts'
import type { Block, ToolResultBlock } from '../../shared/core/content.ts'
import type { Message } from '../../shared/core/conversation.ts'

/** All that one side says before the other side speaks. Services with strict turns need it in one piece. */
export interface Turn {
  readonly role: 'user' | 'assistant' | 'system'
  readonly content: Block[]
}

export interface TurnRules {
  /** Instructions may follow a turn of the user. All other instructions become text of the user's turn. */
  readonly systemAnywhere: boolean
  /** The block as the upstream accepts it; null when it does not accept it. */
  adapt(block: Block, role: Turn['role']): Block | null
}

const NO_RESULT = 'The tool was not run.'
const NOTHING_SAID = '.'

/**
 * Groups messages into turns that alternate, beginning with the user's. Tool results come first in the turn after their
 * calls, one for each call; a result without a call becomes text. Empty texts and empty turns are left out.
 */
export function takeTurns(messages: readonly Message[], rules: TurnRules): Turn[] {
  const turns: Turn[] = []
  const unnamed = new UnnamedCalls()
  for (const message of messages) {
    const role = roleOf(message, turns, rules)
    const marked = role === 'user' && (message.role === 'system' || message.role === 'developer')
    for (const block of message.content) {
      const named = unnamed.name(block)
      const adapted = rules.adapt(marked ? markInstruction(named) : named, role)
      if (adapted === null || isBlank(adapted)) continue
      const last = turns.at(-1)
      if (last?.role === role) last.content.push(adapted)
      else turns.push({ role, content: [adapted] })
    }
  }
  return pairResults(turns)
}

function roleOf({ role }: Message, turns: readonly Turn[], { systemAnywhere }: TurnRules): Turn['role'] {
  if (role === 'assistant') return 'assistant'
  if (role === 'user' || role === 'tool' || !systemAnywhere) return 'user'
  const last = turns.at(-1)?.role
  return last === 'user' || last === 'system' ? 'system' : 'user'
}

function markInstruction(block: Block): Block {
  return block.type === 'text' ? { ...block, text: `<system>\n${block.text}\n</system>` } : block
}

function isBlank(block: Block): boolean {
  return block.type === 'text' && block.text.trim() === ''
}

/** Gives ids to calls without one. Results without an id answer those calls in order. */
class UnnamedCalls {
  readonly #waiting: string[] = []
  #count = 0

  name(block: Block): Block {
    if (block.type === 'tool-call' && block.id === '') {
      const id = `call_${this.#count++}`
      this.#waiting.push(id)
      return { ...block, id }
    }
    if (block.type !== 'tool-result' || block.callId !== '') return block
    return { ...block, callId: this.#waiting.shift() ?? '' }
  }
}

function pairResults(turns: readonly Turn[]): Turn[] {
  const paired: Turn[] = []
  let calls: string[] = []
  for (const turn of turns) {
    if (calls.length > 0 && turn.role !== 'user') paired.push({ role: 'user', content: calls.map(missing) })
    if (turn.role === 'assistant' && paired.length === 0) paired.push(emptyTurn())
    paired.push(turn.role === 'user' ? { role: 'user', content: resultsFirst(turn.content, calls) } : turn)
    calls = turn.role === 'assistant' ? callsOf(turn.content) : []
  }
  if (calls.length > 0) paired.push({ role: 'user', content: calls.map(missing) })
  return paired.length === 0 ? [emptyTurn()] : paired
}

function emptyTurn(): Turn {
  return { role: 'user', content: [textBlock(NOTHING_SAID)] }
}

function callsOf(content: readonly Block[]): string[] {
  const ids: string[] = []
  for (const block of content) if (block.type === 'tool-call') ids.push(block.id)
  return ids
}

/** One result for each call, in the order of the results; the last result of a call wins. Then the rest. */
function resultsFirst(content: readonly Block[], calls: readonly string[]): Block[] {
  const results = new Map<string, Block>()
  const rest: Block[] = []
  for (const block of content) {
    if (block.type !== 'tool-result') rest.push(block)
    else if (calls.includes(block.callId)) results.set(block.callId, block)
    else rest.push(...strayResult(block))
  }
  for (const id of calls) if (!results.has(id)) results.set(id, missing(id))
  return [...results.values(), ...rest]
}

function missing(callId: string): ToolResultBlock {
  return toolResultBlock({ callId, content: [textBlock(NO_RESULT)], plain: true, isError: true })
}

/** A result whose call is missing becomes ordinary content. */
function strayResult(block: ToolResultBlock): readonly Block[] {
  return block.content.length === 0 ? [textBlock('(empty result of a tool)')] : block.content
}
