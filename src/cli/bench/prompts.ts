/** A request of the chat or the messages protocol. */
export interface Prompt {
  readonly protocol: 'chat' | 'messages'
  readonly model: string
  readonly stream: boolean
  readonly content: string
  readonly maxTokens: number
  /** Further members of the body. */
  readonly more?: object
}

const PATHS = { chat: '/v1/chat/completions', messages: '/v1/messages' } as const

export function pathOf({ protocol }: Pick<Prompt, 'protocol'>): string {
  return PATHS[protocol]
}

export function bodyOf({ protocol, model, stream, content, maxTokens, more = {} }: Prompt): string {
  const messages = [{ role: 'user', content }]
  if (protocol === 'messages') return JSON.stringify({ model, stream, max_tokens: maxTokens, messages, ...more })
  const usage = stream ? { stream_options: { include_usage: true } } : {}
  return JSON.stringify({ model, stream, max_completion_tokens: maxTokens, ...usage, messages, ...more })
}

/** Asks for a text that is known in advance, so that a missing piece is seen. */
export function countingPrompt(upTo: number): string {
  return `Write the whole numbers from 1 to ${upTo} in digits, in order, separated by one space, and nothing else.`
}

export function countingText(upTo: number): string {
  return Array.from({ length: upTo }, (_, index) => index + 1).join(' ')
}

/** A text that tells the simulator how to answer (README of the simulator). */
export function steering(behaviour: object): string {
  return `[[sim ${JSON.stringify(behaviour)}]]`
}

const SENTENCE = 'The quick brown fox jumps over the lazy dog. '

/** A text of so many bytes. */
export function filler(bytes: number): string {
  return SENTENCE.repeat(Math.ceil(bytes / SENTENCE.length)).slice(0, bytes)
}
