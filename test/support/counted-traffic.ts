import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Answer } from '../../src/shared/core/answer.ts'
import { isFailure } from '../../src/shared/core/codec.ts'
import type { Conversation, WireDialect } from '../../src/shared/core/conversation.ts'
import type { UpstreamFailure } from '../../src/shared/core/dialect.ts'
import { clientCodec, upstreamCodec } from '../../src/dialects/codecs.ts'
import { collect, decodeStream } from './translation.ts'

const ROOT = fileURLToPath(new URL('../fixtures/recorded/', import.meta.url))

/** A recorded exchange with the provider's token counts. */
export interface CountedCase {
  readonly id: string
  readonly model: string
  readonly provider: string
  readonly body: Buffer
  /** Null: the request is not recorded, or not in a client dialect. */
  readonly prompt: { readonly conversation: Conversation; readonly tokens: number } | null
  /** Null: the provider counted only the prompt. `tokens` counts the visible part of the answer. */
  readonly answer: { readonly answer: Answer; readonly tokens: number } | null
}

export interface CountedTraffic {
  readonly cases: readonly CountedCase[]
  /** Number of cases by reason. */
  readonly leftOut: ReadonlyMap<string, number>
}

interface Entry {
  id: string
  protocol: string
  provider: string
  kind: string
  model?: string
  operation?: string
  truncated?: unknown[]
  request?: { file?: string }
  response: { format: string; file?: string }
}

const DIALECTS: Readonly<Record<string, WireDialect>> = {
  'openai-chat': 'openai-chat',
  'anthropic-messages': 'anthropic-messages',
  'anthropic-vertex': 'anthropic-messages',
  'bedrock-invoke': 'anthropic-messages',
  'bedrock-converse': 'bedrock-converse',
  'cohere-chat': 'cohere-chat',
  gemini: 'gemini',
}

/** Hosts that add instructions of hundreds of tokens before the prompt. */
const HOSTS_WITH_INSTRUCTIONS = new Set(['venice', 'snowflake'])

export function loadCountedTraffic(): CountedTraffic {
  const cases: CountedCase[] = []
  const leftOut = new Map<string, number>()
  for (const entry of ['index.json', 'clouds.json', 'gemini.json'].flatMap(readEntries)) {
    const dialect = DIALECTS[entry.protocol]
    if (dialect === undefined || entry.kind === 'error') continue
    const read = readCase(entry, dialect)
    if (typeof read === 'string') leftOut.set(read, (leftOut.get(read) ?? 0) + 1)
    else cases.push(read)
  }
  return { cases, leftOut }
}

function readEntries(file: string): Entry[] {
  return (JSON.parse(readFileSync(join(ROOT, file), 'utf8')) as { cases: Entry[] }).cases
}

/** The case, or the reason why it is left out. */
function readCase(entry: Entry, dialect: WireDialect): CountedCase | string {
  const { id, provider, model } = entry
  if (model === undefined) return 'no model is known'
  if (HOSTS_WITH_INSTRUCTIONS.has(provider)) return 'the host adds instructions'
  if (entry.response.file === undefined) return 'no body'
  if (entry.protocol === 'bedrock-invoke' && entry.response.format !== 'json') return 'events within frames'
  const bytes = readFileSync(join(ROOT, entry.response.file))
  const body = entry.request?.file === undefined ? null : readFileSync(join(ROOT, entry.request.file))
  const common = { id, model, provider, body: body ?? Buffer.alloc(0) }
  if (entry.operation === 'count_tokens') {
    const { input_tokens } = JSON.parse(bytes.toString()) as { input_tokens: number }
    return { ...common, prompt: promptOf(entry, dialect, body, input_tokens), answer: null }
  }
  const answer = readAnswer(dialect, entry.response.format, bytes)
  if (isFailure(answer)) return 'a failure'
  const { usage } = answer
  if (usage === null) return 'no usage'
  const shown = answer.content.some(({ type }) => type === 'thinking')
    ? usage.completionTokens
    : usage.completionTokens - usage.reasoningTokens
  const written = answer.content.some(({ type }) => type === 'text' || type === 'thinking' || type === 'tool-call')
  const foreign = answer.content.some(({ type }) => type === 'native' || type === 'redacted-thinking')
  return {
    ...common,
    prompt: promptOf(entry, dialect, body, usage.promptTokens),
    answer: shown > 0 && written && !foreign ? { answer, tokens: shown } : null,
  }
}

function promptOf(entry: Entry, dialect: WireDialect, body: Buffer | null, tokens: number): CountedCase['prompt'] {
  if (body === null || tokens === 0 || (dialect !== 'openai-chat' && dialect !== 'anthropic-messages')) return null
  // The recording is truncated, or the provider added text that it does not show.
  if (entry.truncated !== undefined && entry.truncated.length > 0) return null
  const value = JSON.parse(body.toString()) as Record<string, unknown>
  if (['preset', 'models', 'mcp_servers', 'plugins', 'web_search_options'].some((name) => name in value)) return null
  const conversation = clientCodec(dialect).parseRequest(value)
  return conversation.tools.some(({ type }) => type === 'native') ? null : { conversation, tokens }
}

function readAnswer(dialect: WireDialect, format: string, bytes: Buffer): Answer | UpstreamFailure {
  if (format === 'json') return upstreamCodec(dialect).parseAnswer(JSON.parse(bytes.toString()))
  return collect(decodeStream(dialect, [bytes]))
}
