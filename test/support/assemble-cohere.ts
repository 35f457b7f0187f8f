interface CohereEvent {
  type: string
  id?: string
  index?: number
  delta?: {
    message?: {
      content?: { type?: string; text?: string; thinking?: string }
      tool_plan?: string
      tool_calls?: { id?: string; type?: string; function: { name?: string; arguments: string } }
      citations?: unknown
    }
    finish_reason?: string
    usage?: unknown
  }
}

/** The buffered answer that Cohere would have sent in place of a recorded stream. */
export function assembleCohere(stream: Buffer): unknown {
  const content = new Map<number, Record<string, string>>()
  const calls = new Map<number, { id?: string; type?: string; function: { name?: string; arguments: string } }>()
  const citations: unknown[] = []
  let plan = ''
  let answer: Record<string, unknown> = {}
  for (const line of stream.toString().split('\n')) {
    if (!line.startsWith('data: {')) continue
    const event = JSON.parse(line.slice('data: '.length)) as CohereEvent
    const { type, id, index = 0, delta } = event
    const message = delta?.message
    if (type === 'message-start') answer = { id }
    else if (type === 'message-end') answer = { ...answer, finish_reason: delta?.finish_reason, usage: delta?.usage }
    else if (type === 'content-start' || type === 'content-delta') {
      const part = content.get(index) ?? {}
      for (const name of ['text', 'thinking'] as const) {
        const more = message?.content?.[name]
        if (more !== undefined) part[name] = (part[name] ?? '') + more
      }
      content.set(index, part)
    } else if (type === 'tool-plan-delta') plan += message?.tool_plan ?? ''
    else if (type === 'citation-start') citations.push(message?.citations)
    else if (type === 'tool-call-start' && message?.tool_calls !== undefined) calls.set(index, message.tool_calls)
    else if (type === 'tool-call-delta') {
      const call = calls.get(index)
      if (call !== undefined) call.function.arguments += message?.tool_calls?.function.arguments ?? ''
    }
  }
  return {
    ...answer,
    message: {
      role: 'assistant',
      content: [...content.values()],
      tool_plan: plan,
      tool_calls: [...calls.values()],
      citations,
    },
  }
}
