import type { EventVerdict } from '../../../src/shared/core/dialect.ts'
import type { DialectName } from '../../../src/shared/core/endpoint.ts'
import type { Usage } from '../../../src/shared/core/usage.ts'
import { eventsOf, fieldsOf } from '../wire/sse-oracle.ts'

/** What an inspector must make of a stream. */
export interface Outcome {
  forwarded: string
  verdicts: EventVerdict[]
  usage: Usage | null
  finished: boolean
  failed: boolean
  textBytes: number
}

// Recorded JSON, read freely.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Json = any

/** Computed from JSON.parse of every event, with none of the code under test. */
export function expectedOutcome(dialect: DialectName, stream: Buffer, clientWantsUsage: boolean): Outcome {
  const read = dialect === 'openai-chat' ? chatReader(clientWantsUsage) : messagesReader()
  const outcome: Outcome = { forwarded: '', verdicts: [], usage: null, finished: false, failed: false, textBytes: 0 }
  for (const event of eventsOf(stream)) {
    const { name, data } = fieldsOf(event)
    const verdict = read(outcome, name, data)
    outcome.verdicts.push(verdict)
    if (verdict === 'forward' || verdict === 'terminal') outcome.forwarded += event
    if (verdict === 'error') outcome.failed = true
    if (verdict === 'error' || verdict === 'terminal') break
  }
  if (outcome.failed) outcome.finished = false
  return outcome
}

type Reader = (outcome: Outcome, name: string, data: string | null) => EventVerdict

function chatReader(clientWantsUsage: boolean): Reader {
  const begun = new Set<number>()
  const ended = new Set<number>()
  return (outcome, name, data) => {
    if (name === 'error') return 'error'
    if (data === null) return 'forward'
    if (data === '[DONE]') return 'terminal'
    const chunk: Json = JSON.parse(data)
    const usage: Json = chunk.usage ?? chunk.x_groq?.usage
    if (usage) outcome.usage = chatUsage(usage)
    for (const choice of chunk.choices ?? []) {
      outcome.textBytes += textIn(choice.delta)
      begun.add(choice.index ?? 0)
      if (choice.finish_reason) ended.add(choice.index ?? 0)
    }
    outcome.finished = ended.size > 0 && ended.size === begun.size
    if (chunk.error) return 'error'
    return usage && !chunk.choices?.length && !clientWantsUsage ? 'drop' : 'forward'
  }
}

export function chatUsage(usage: Json): Usage {
  const reasoning = usage.completion_tokens_details?.reasoning_tokens ?? usage.reasoning_tokens ?? 0
  const beside = reasoning > 0 && usage.total_tokens === usage.prompt_tokens + usage.completion_tokens + reasoning
  const completion = usage.completion_tokens + (beside ? reasoning : 0)
  return {
    promptTokens: usage.prompt_tokens,
    completionTokens: completion,
    // One recorded service claims more cached tokens than there were.
    cachedTokens: Math.min(
      usage.prompt_tokens_details?.cached_tokens ?? usage.prompt_cache_hit_tokens ?? usage.cached_tokens ?? 0,
      usage.prompt_tokens,
    ),
    cacheWriteTokens: usage.prompt_tokens_details?.cache_write_tokens ?? 0,
    reasoningTokens: Math.min(reasoning, completion),
  }
}

function messagesReader(): Reader {
  let raw: Json = {}
  let started = false
  let hasContent = false
  const take = (outcome: Outcome, usage: Json): void => {
    for (const [name, value] of Object.entries(usage ?? {})) if (value !== null) raw = { ...raw, [name]: value }
    outcome.usage = messagesUsage(raw)
  }
  return (outcome, name, data) => {
    if (name === 'error') return 'error'
    if (data === null) return 'forward'
    const event: Json = JSON.parse(data)
    switch (event.type) {
      case 'error':
        return 'error'
      case 'message_stop':
        return 'terminal'
      case 'message_start':
        if (hasContent) return 'error'
        take(outcome, event.message.usage)
        if (started) return 'drop'
        started = true
        return 'forward'
      case 'message_delta':
        take(outcome, event.usage)
        if (event.delta.stop_reason) outcome.finished = true
        return 'forward'
      case 'content_block_start':
        hasContent = true
        outcome.textBytes += Buffer.byteLength((event.content_block.text ?? '') + (event.content_block.thinking ?? ''))
        return 'forward'
      case 'content_block_delta': {
        const { text = '', thinking = '', partial_json: json = '' } = event.delta
        outcome.textBytes += Buffer.byteLength(`${text}${thinking}${json}`)
        return 'forward'
      }
      default:
        return 'forward'
    }
  }
}

export function messagesUsage(raw: Json): Usage {
  const read = raw.cache_read_input_tokens ?? 0
  const written = raw.cache_creation_input_tokens ?? 0
  return {
    promptTokens: raw.input_tokens + read + written,
    completionTokens: raw.output_tokens,
    cachedTokens: read,
    cacheWriteTokens: written,
    reasoningTokens: raw.output_tokens_details?.thinking_tokens ?? 0,
  }
}

const TEXT_KEYS =
  /^(content|reasoning|reasoning_content|refusal|arguments|input|text|thinking|transcript|partial_json)$/

export function textIn(value: Json): number {
  if (typeof value !== 'object' || value === null) return 0
  return Object.entries(value as Record<string, Json>).reduce((sum, [key, member]) => {
    if (key === 'reasoning_details') return sum
    return sum + (typeof member === 'string' ? (TEXT_KEYS.test(key) ? Buffer.byteLength(member) : 0) : textIn(member))
  }, 0)
}
