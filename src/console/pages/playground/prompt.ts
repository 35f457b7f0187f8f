/** The languages that a gateway speaks, by the names of their endpoints in the log. */
export const DIALECTS = ['chat.completions', 'messages', 'responses'] as const
export type Dialect = (typeof DIALECTS)[number]

export const PATHS: Readonly<Record<Dialect, string>> = {
  'chat.completions': '/v1/chat/completions',
  messages: '/v1/messages',
  responses: '/v1/responses',
}

export interface Turn {
  readonly role: 'user' | 'assistant'
  readonly text: string
}

export interface Prompt {
  readonly dialect: Dialect
  readonly model: string
  readonly system: string
  readonly turns: readonly Turn[]
  /** Null: the field is not sent. */
  readonly maxTokens: number | null
  readonly temperature: number | null
}

/** The messages protocol has no request without a limit. */
const MESSAGES_MAX_TOKENS = 1_024

/** The body of a request; fields that were not filled in are left out, because models refuse some. */
export function bodyOf({ dialect, model, system, turns, maxTokens, temperature }: Prompt): Record<string, unknown> {
  const sampling = temperature === null ? {} : { temperature }
  const messages = turns.map(({ role, text }) => ({ role, content: text }))
  switch (dialect) {
    case 'chat.completions':
      return {
        model,
        messages: system === '' ? messages : [{ role: 'system', content: system }, ...messages],
        ...(maxTokens === null ? {} : { max_completion_tokens: maxTokens }),
        ...sampling,
      }
    case 'messages':
      return {
        model,
        max_tokens: maxTokens ?? MESSAGES_MAX_TOKENS,
        ...(system === '' ? {} : { system }),
        messages,
        ...sampling,
      }
    case 'responses':
      return {
        model,
        ...(system === '' ? {} : { instructions: system }),
        input: messages,
        ...(maxTokens === null ? {} : { max_output_tokens: maxTokens }),
        ...sampling,
      }
  }
}

export function dialectOf(text: string | null): Dialect | null {
  return DIALECTS.find((one) => one === text) ?? null
}

interface Read extends Omit<Prompt, 'dialect' | 'model'> {
  /** Something of the request is no text, and is left out: pictures, tools. */
  readonly isPartial: boolean
}

/** Reads the prompt of a logged request. Null: it is no prompt of this dialect. */
export function promptOf(dialect: Dialect, body: string): Read | null {
  let value: unknown
  try {
    value = JSON.parse(body)
  } catch {
    return null
  }
  const fields = object(value)
  const list = dialect === 'responses' ? fields['input'] : fields['messages']
  const items =
    typeof list === 'string' ? [{ role: 'user', content: list }] : Array.isArray(list) ? list.map(object) : null
  if (items === null) return null
  const texts = items.map((item) => ({
    role: typeof item['role'] === 'string' ? item['role'] : 'user',
    ...textOf(item['content']),
  }))
  const first = textOf(dialect === 'responses' ? fields['instructions'] : fields['system'])
  const isSystem = ({ role }: { readonly role: string }): boolean => role === 'system' || role === 'developer'
  const number = (...names: string[]): number | null => {
    const found = names.map((name) => fields[name]).find((one) => typeof one === 'number')
    return typeof found === 'number' ? found : null
  }
  return {
    system: [first.text, ...texts.filter(isSystem).map(({ text }) => text)].filter((text) => text !== '').join('\n\n'),
    turns: texts
      .filter((one) => !isSystem(one) && one.text !== '')
      .map(({ role, text }) => ({ role: role === 'assistant' ? 'assistant' : 'user', text })),
    maxTokens: number('max_completion_tokens', 'max_output_tokens', 'max_tokens'),
    temperature: number('temperature'),
    isPartial: Array.isArray(fields['tools']) || texts.some(({ isWhole }) => !isWhole),
  }
}

function object(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {}
}

function textOf(content: unknown): { readonly text: string; readonly isWhole: boolean } {
  if (typeof content === 'string') return { text: content, isWhole: true }
  if (!Array.isArray(content)) return { text: '', isWhole: content === undefined || content === null }
  const parts = content.map((part) => object(part)['text'])
  return {
    text: parts.filter((text) => typeof text === 'string').join('\n'),
    isWhole: parts.every((text) => typeof text === 'string'),
  }
}
