import type { Answer } from '../../shared/core/answer.ts'
import type { StreamEvent } from '../../shared/core/stream-event.ts'
import { inputText } from './tool-input.ts'

/** Turns a whole answer into events, for clients that asked for a stream when the upstream sent none. */
export function replayAnswer(answer: Answer): StreamEvent[] {
  const { from, id, model, created, usage } = answer
  const events: StreamEvent[] = [{ type: 'start', from, id, model, created, usage, extra: null }]
  for (const block of answer.content) {
    switch (block.type) {
      case 'text':
      case 'refusal':
        if (block.text === '') break
        events.push({ type: 'text-start', refusal: block.type === 'refusal' }, { type: 'text-delta', text: block.text })
        if (block.type === 'text') {
          for (const citation of block.citations ?? []) events.push({ type: 'citation', citation })
        }
        events.push({ type: 'text-end' })
        break
      case 'thinking':
        events.push({ type: 'thinking-start', format: block.format })
        if (block.text !== '') events.push({ type: 'thinking-delta', text: block.text })
        if (block.signature !== null) events.push({ type: 'thinking-signature', text: block.signature })
        events.push({ type: 'thinking-end' })
        break
      case 'redacted-thinking':
        events.push({ type: 'redacted-thinking', data: block.data, format: block.format })
        break
      case 'tool-call': {
        const { kind, name, signature } = block
        const text = inputText(block.input)
        events.push({ type: 'tool-start', kind, id: block.id, name, signature, extra: null })
        if (text !== '') events.push({ type: 'tool-delta', text })
        events.push({ type: 'tool-end' })
        break
      }
      case 'native':
        events.push({ type: 'native-start', kind: block.kind, value: block.value }, { type: 'native-end' })
        break
      default:
        events.push({ type: 'native-start', kind: block.type, value: {} }, { type: 'native-end' })
    }
  }
  events.push({ type: 'end', stop: answer.stop, usage, nativeUsage: answer.nativeUsage, extra: null })
  return events
}
