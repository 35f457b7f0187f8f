import { SluiceClient } from '../../../client/index.ts'
import type { EventStream } from '../../../client/index.ts'
import { bodyOf } from './prompt.ts'
import type { Dialect, Prompt } from './prompt.ts'

const TIMEOUT_MS = 120_000

type Event = Readonly<Record<string, unknown>>

interface Tokens {
  readonly input: number
  readonly output: number
}

/** The answer so far. */
export interface Answer {
  readonly text: string
  readonly requestId: string | null
  /** Until the first text, as this browser saw it. */
  readonly ttftMs: number | null
  readonly totalMs: number | null
  readonly tokens: Tokens | null
}

export const NO_ANSWER: Answer = { text: '', requestId: null, ttftMs: null, totalMs: null, tokens: null }

export function clientWith(key: string): SluiceClient {
  return new SluiceClient({ baseUrl: location.origin, apiKey: key, timeoutMs: TIMEOUT_MS, maxRetries: 0 })
}

/** Streams an answer. Rejects with the gateway's error, and when the signal aborts. */
export async function ask(
  key: string,
  prompt: Prompt,
  onChange: (answer: Answer) => void,
  signal: AbortSignal,
): Promise<void> {
  const started = performance.now()
  const stream = await opened(clientWith(key), prompt, signal)
  let answer: Answer = { ...NO_ANSWER, requestId: stream.requestId }
  const tell = (change: Partial<Answer>): void => {
    answer = { ...answer, ...change }
    onChange(answer)
  }
  tell({})
  for await (const event of stream) {
    const added = addedText(prompt.dialect, event)
    const tokens = tokensOf(prompt.dialect, event, answer.tokens)
    if (added !== '' || tokens !== answer.tokens) {
      tell({
        text: answer.text + added,
        ttftMs: answer.ttftMs ?? (added === '' ? null : performance.now() - started),
        tokens,
      })
    }
  }
  tell({ totalMs: performance.now() - started })
}

async function opened(client: SluiceClient, prompt: Prompt, signal: AbortSignal): Promise<EventStream<Event>> {
  const body = bodyOf(prompt) as never
  const options = { signal }
  switch (prompt.dialect) {
    case 'chat.completions': {
      const request = { ...(body as Event), stream_options: { include_usage: true } } as never
      return await client.chat.stream(request, options)
    }
    case 'messages':
      return await client.messages.stream(body, options)
    case 'responses':
      return client.responses.stream(body, options)
  }
}

function addedText(dialect: Dialect, event: Event): string {
  switch (dialect) {
    case 'chat.completions': {
      const [choice] = Array.isArray(event['choices']) ? (event['choices'] as unknown[]) : []
      return text(object(object(choice)['delta'])['content'])
    }
    case 'messages':
      return event['type'] === 'content_block_delta' ? text(object(event['delta'])['text']) : ''
    case 'responses':
      return event['type'] === 'response.output_text.delta' ? text(event['delta']) : ''
  }
}

function tokensOf(dialect: Dialect, event: Event, before: Tokens | null): Tokens | null {
  const usage =
    dialect === 'responses'
      ? object(object(event['response'])['usage'])
      : { ...object(object(event['message'])['usage']), ...object(event['usage']) }
  const of = (...names: string[]): number | null => {
    const found = names.map((name) => usage[name]).find((one) => typeof one === 'number')
    return typeof found === 'number' ? found : null
  }
  const [input, output] = [of('prompt_tokens', 'input_tokens'), of('completion_tokens', 'output_tokens')]
  if (input === null && output === null) return before
  return { input: input ?? before?.input ?? 0, output: output ?? before?.output ?? 0 }
}

function object(value: unknown): Event {
  return typeof value === 'object' && value !== null ? (value as Event) : {}
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
