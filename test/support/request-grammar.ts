import type { Json } from './plain-json.ts'

/** Throws when a messages service would refuse the order or the content of messages. */
export function checkMessagesGrammar({ messages, max_tokens: maxTokens }: Json): void {
  if (!(maxTokens >= 1)) throw new Error('no max_tokens')
  if (messages[0].role !== 'user') throw new Error('the first message is not of the user')
  let calls: string[] = []
  for (const [at, { role, content }] of messages.entries()) {
    if (at > 0 && messages[at - 1].role === role) throw new Error('two messages of one role')
    if (content.length === 0) throw new Error('an empty message')
    const results: Json[] = content.filter((block: Json) => block.type === 'tool_result')
    const answered = results.map((block) => block.tool_use_id)
    if (JSON.stringify([...answered].sort()) !== JSON.stringify([...calls].sort()))
      throw new Error('calls without results')
    if (content.slice(0, results.length).some((block: Json) => block.type !== 'tool_result'))
      throw new Error('results late')
    for (const block of content) checkBlock(block)
    calls = content.filter((block: Json) => block.type === 'tool_use').map((block: Json) => block.id)
  }
  if (calls.length > 0) throw new Error('calls without results at the end')
}

function checkBlock(block: Json): void {
  if (block.type === 'text' && block.text.trim() === '') throw new Error('an empty text')
  if (block.type === 'tool_use' && !/^[A-Za-z0-9_-]{1,64}$/.test(block.id as string)) throw new Error('a bad id')
  if (block.type === 'tool_use' && (typeof block.input !== 'object' || block.input === null))
    throw new Error('no input')
  if (block.type === 'thinking' && !block.signature) throw new Error('thinking without a signature')
}

/** Throws when a chat service would refuse the order of messages. */
export function checkChatGrammar({ messages }: Json): void {
  let open: string[] = []
  for (const message of messages) {
    if (message.role === 'tool') {
      if (!open.includes(message.tool_call_id as string)) throw new Error('a result of no call')
      if (typeof message.content !== 'string') throw new Error('a result that is no text')
      open = open.filter((id) => id !== message.tool_call_id)
      continue
    }
    if (open.length > 0) throw new Error('calls without results')
    if (message.role === 'assistant') {
      for (const call of message.tool_calls ?? []) JSON.parse((call.function?.arguments ?? '{}') as string)
      open = (message.tool_calls ?? []).map((call: Json) => call.id)
      if (message.content === null && open.length === 0) throw new Error('an assistant that says nothing')
    }
  }
}

/** All text of a request's messages in either dialect, with tool results and without white space. */
export function textOfRequest({ system, messages }: Json): string {
  return [...textsOf(system), ...messages.flatMap((message: Json) => textsOf(message.content))]
    .join('')
    .replaceAll(/\s+/g, '')
}

function textsOf(content: Json): string[] {
  if (typeof content === 'string') return [content]
  return [...(content ?? [])].flatMap((block: Json) => {
    if (block.type === 'tool_result') return textsOf(block.content)
    return typeof block.text === 'string' ? [block.text as string] : []
  })
}
