import type { CloudFixture } from './recorded-fixtures.ts'

interface Delta {
  text?: string
  toolUse?: { input: string }
  toolResult?: unknown[]
  reasoningContent?: { text?: string; signature?: string; redactedContent?: string }
  citation?: unknown
}

interface Payload {
  contentBlockIndex: number
  start?: { toolUse?: object; toolResult?: object }
  delta?: Delta
  stopReason?: string
  additionalModelResponseFields?: unknown
  usage?: unknown
}

/** The buffered answer that Converse would have sent in place of a recorded stream. */
export function assembleConverse(decoded: CloudFixture['decoded']): unknown {
  const blocks = new Map<number, { start: NonNullable<Payload['start']>; deltas: Delta[] }>()
  const answer: Record<string, unknown> = {}
  for (const { headers, payload } of decoded) {
    const {
      contentBlockIndex: index,
      start,
      delta,
      stopReason,
      additionalModelResponseFields,
      usage,
    } = payload as Payload
    const block = blocks.get(index) ?? { start: {}, deltas: [] }
    switch (headers[':event-type']) {
      case 'contentBlockStart':
        blocks.set(index, { ...block, start: start ?? {} })
        break
      case 'contentBlockDelta':
        if (delta !== undefined) block.deltas.push(delta)
        blocks.set(index, block)
        break
      case 'messageStop':
        answer['stopReason'] = stopReason
        if (additionalModelResponseFields !== undefined) {
          answer['additionalModelResponseFields'] = additionalModelResponseFields
        }
        break
      case 'metadata':
        answer['usage'] = usage
        break
      case undefined:
    }
  }
  const content = [...blocks.entries()].sort(([a], [b]) => a - b).map(([, block]) => assemble(block))
  return { ...answer, output: { message: { role: 'assistant', content } } }
}

function assemble({ start, deltas }: { start: NonNullable<Payload['start']>; deltas: readonly Delta[] }): unknown {
  const text = deltas.map((delta) => delta.text ?? '').join('')
  if (start.toolUse !== undefined) {
    const input = deltas.map((delta) => delta.toolUse?.input ?? '').join('')
    return { toolUse: { ...start.toolUse, input: input === '' ? {} : (JSON.parse(input) as unknown) } }
  }
  if (start.toolResult !== undefined) {
    return { toolResult: { ...start.toolResult, content: deltas.flatMap((delta) => delta.toolResult ?? []) } }
  }
  if (deltas.some((delta) => delta.citation !== undefined)) {
    const citations = deltas.flatMap((delta) => (delta.citation === undefined ? [] : [delta.citation]))
    return { citationsContent: { content: [{ text }], citations } }
  }
  const reasoning = deltas.flatMap((delta) => (delta.reasoningContent === undefined ? [] : [delta.reasoningContent]))
  if (reasoning.length === 0) return { text }
  const redactedContent = reasoning.map((part) => part.redactedContent ?? '').join('')
  if (redactedContent !== '') return { reasoningContent: { redactedContent } }
  const signature = reasoning.map((part) => part.signature ?? '').join('')
  const thinking = reasoning.map((part) => part.text ?? '').join('')
  return { reasoningContent: { reasoningText: { text: thinking, ...(signature === '' ? null : { signature }) } } }
}
