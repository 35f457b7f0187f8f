import type { Scene } from './scripted-server.ts'
import { events } from './scripted-server.ts'
import type { Json } from './plain-json.ts'
import { messageOf } from './translation.ts'

// Three answers of a messages upstream with extended thinking: two tool turns, and the end. The first has thinking before
// and after its text, and thinking that only the upstream can read.

/** The blocks of each tool turn that the upstream must get back, byte for byte. */
export const SIGNED_TURNS: readonly Json[][] = [
  [
    { type: 'thinking', thinking: 'Where is it? "Rome", né.', signature: 'EqQB+/==first' },
    { type: 'redacted_thinking', data: 'EmwKAhgBEgy/encrypted==' },
    { type: 'thinking', thinking: 'So I ask.\nBoth of them.', signature: 'EqQB+/==second' },
    { type: 'tool_use', id: 'toolu_1', name: 'get_weather', input: { city: 'Rome' } },
  ],
  [
    { type: 'thinking', thinking: 'Now Paris.', signature: 'EqQB+/==third' },
    { type: 'tool_use', id: 'toolu_2', name: 'get_weather', input: { city: 'Paris' } },
  ],
]

export const SIGNED_SCENES: readonly Scene[] = [
  ...SIGNED_TURNS.map((blocks) => events([messageOf(blocks.map(inPieces), 'tool_use')])),
  events([messageOf([inPieces({ type: 'text', text: 'Both are sunny.' })], 'end_turn')]),
]

/** The start and the deltas of a block, with its text in two pieces. */
function inPieces(block: Json): Json[] {
  switch (block['type']) {
    case 'thinking': {
      const [first, second] = halves(String(block['thinking']))
      return [
        { type: 'thinking', thinking: '', signature: '' },
        { type: 'thinking_delta', thinking: first },
        { type: 'thinking_delta', thinking: second },
        { type: 'signature_delta', signature: block['signature'] },
      ]
    }
    case 'tool_use': {
      const [first, second] = halves(JSON.stringify(block['input']))
      return [
        { ...block, input: {} },
        { type: 'input_json_delta', partial_json: first },
        { type: 'input_json_delta', partial_json: second },
      ]
    }
    case 'text':
      return [
        { type: 'text', text: '' },
        { type: 'text_delta', text: block['text'] },
      ]
    default:
      return [block]
  }
}

function halves(text: string): [string, string] {
  const middle = Math.ceil(text.length / 2)
  return [text.slice(0, middle), text.slice(middle)]
}

/** The assistant's turns in a body that reached the upstream. */
export function assistantTurns(body: string): unknown[] {
  const { messages } = JSON.parse(body) as { messages: Array<{ role: string; content: unknown }> }
  return messages.filter(({ role }) => role === 'assistant').map(({ content }) => content)
}
