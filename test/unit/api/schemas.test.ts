import { readFileSync } from 'node:fs'
import { Compile } from 'typebox/compile'
import type { TSchema } from 'typebox'
import { describe, expect, expectTypeOf, it } from 'vitest'
import {
  ChatCompletion,
  ChatCompletionChunk,
  ChatCompletionRequest,
} from '../../../src/shared/endpoints/chat-completions.ts'
import type { ChatCompletionRequest as ChatRequest } from '../../../src/shared/endpoints/chat-completions.ts'
import { CountTokensRequest, CountTokensResponse } from '../../../src/shared/endpoints/count-tokens.ts'
import { ErrorBody, ErrorType, MessagesErrorBody } from '../../../src/shared/api/error.ts'
import type { ErrorType as PublicErrorType } from '../../../src/shared/api/error.ts'
import { Health, Liveness, Readiness } from '../../../src/shared/endpoints/health.ts'
import { Message, MessageStreamEvent, MessagesRequest } from '../../../src/shared/endpoints/messages.ts'
import type { MessagesRequest as MessagesRequestType } from '../../../src/shared/endpoints/messages.ts'
import { ModelEntry, ModelList } from '../../../src/shared/endpoints/models.ts'
import { ERROR_CODES } from '../../../src/shared/core/errors.ts'
import type { ErrorType as CoreErrorType } from '../../../src/shared/core/errors.ts'

interface RecordedCase {
  readonly id: string
  readonly protocol: string
  readonly provider: string
  readonly operation?: string
  readonly features: readonly string[]
  readonly response: { readonly status: number; readonly format: string; readonly file?: string }
}

/** A preview of 2023 with `finish_details` where all others have `finish_reason`. */
const ODD_CASES = ['openai-chat/openai-chat-completion-image-input']

const recorded = new URL('../../fixtures/recorded/', import.meta.url)
const index = JSON.parse(readFileSync(new URL('index.json', recorded), 'utf8')) as { cases: RecordedCase[] }

/** The JSON values of all answers that the vendor of a protocol gave: bodies, or the events of streams. */
function answers(provider: string, format: 'json' | 'sse', operation?: string): { id: string; values: unknown[] }[] {
  return index.cases
    .filter((entry) => entry.provider === provider && entry.response.status === 200 && entry.operation === operation)
    .filter((entry) => entry.response.format === format && !ODD_CASES.includes(entry.id))
    .map(({ id, response }) => {
      const text = readFileSync(new URL(response.file ?? '', recorded), 'utf8')
      const events = text.split(/\r?\n/).filter((line) => line.startsWith('data: {'))
      return { id, values: (format === 'json' ? [text] : events.map((line) => line.slice(6))).map(parse) }
    })
}

const parse = (text: string): unknown => JSON.parse(text)

function firstMismatch(schema: TSchema, values: readonly unknown[]): unknown {
  const check = Compile(schema)
  const bad = values.find((value) => !check.Check(value) && !isErrorEvent(value))
  return bad === undefined ? null : { bad, errors: check.Errors(bad) }
}

/** An error in a stream of chunks is not a chunk. */
function isErrorEvent(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'error' in value
}

describe('the schemas of answers', () => {
  it.each([
    ['chat completions', 'openai', 'json', undefined, ChatCompletion],
    ['chat completion chunks', 'openai', 'sse', undefined, ChatCompletionChunk],
    ['messages', 'anthropic', 'json', undefined, Message],
    ['message stream events', 'anthropic', 'sse', undefined, MessageStreamEvent],
    ['token counts', 'anthropic', 'json', 'count_tokens', CountTokensResponse],
  ] as const)('describe recorded %s of %s', (_, provider, format, operation, schema) => {
    const found = answers(provider, format, operation)

    expect(found.length).toBeGreaterThan(2)
    for (const { id, values } of found)
      expect({ id, mismatch: firstMismatch(schema, values) }).toEqual({ id, mismatch: null })
  })

  const model = {
    ...{ id: 'm', object: 'model', created: 1, owned_by: 'me' },
    ...{ type: 'model', display_name: 'M', created_at: '2026-01-01T00:00:00Z' },
  }

  it.each([
    [ModelList, { object: 'list', data: [model], has_more: false, first_id: 'm', last_id: 'm' }],
    [ModelList, { object: 'list', data: [], has_more: false, first_id: null, last_id: null }],
    [ModelEntry, model],
    [ErrorBody, { error: { type: 'rate_limit', message: 'x', code: 'RPM_EXCEEDED', param: null, request_id: 'r' } }],
    [MessagesErrorBody, { type: 'error', error: { type: 'auth_error', message: 'x' }, request_id: 'r' }],
    [Health, { status: 'healthy', available_keys: 1, total_concurrency: 8, cache_hit_rate: '0.0%' }],
    [
      Health,
      {
        status: 'degraded',
        available_keys: 0,
        total_concurrency: 0,
        cache_hit_rate: '100.0%',
        response_cache_hit_rate: '2.5%',
      },
    ],
    [Liveness, { status: 'ok' }],
    [
      Readiness,
      {
        status: 'not_ready',
        checks: {
          database: { status: 'ok', latency_ms: 0.3 },
          cache: { status: 'ok', latency_ms: 0 },
          key_pool: { status: 'down', latency_ms: 0, message: 'No upstream key is usable.' },
        },
      },
    ],
  ])('describe what the contract shows (%#)', (schema: TSchema, value) => {
    expect(Compile(schema).Errors(value)).toEqual([])
    expect(Compile(schema).Check({})).toBe(false)
  })

  it.each(['5%', '0.25%', '12.5', 'none'])('do not take %s for a percentage', (cache_hit_rate) => {
    const health = { status: 'healthy', available_keys: 1, total_concurrency: 8, cache_hit_rate }
    expect(Compile(Health).Check(health)).toBe(false)
  })
})

describe('the error types', () => {
  it('are the seven of the error table', () => {
    const types = new Set(Object.values(ERROR_CODES).map(({ type }) => type))

    expect(new Set(ErrorType.enum)).toEqual(types)
    expectTypeOf<PublicErrorType>().toEqualTypeOf<CoreErrorType>()
  })
})

describe('the schemas of requests', () => {
  it.each([
    ['ChatCompletionRequest', ChatCompletionRequest],
    ['MessagesRequest', MessagesRequest],
    ['CountTokensRequest', CountTokensRequest],
  ])('say of each field of %s what it is for', (_, schema) => {
    expect(schema).toHaveProperty('description')
    for (const [name, field] of Object.entries(schema.properties)) {
      expect({ name, described: 'description' in field }).toEqual({ name, described: true })
    }
  })

  it('are plain JSON: what is written into a document is what is checked', () => {
    for (const schema of [ChatCompletionRequest, MessagesRequest, MessageStreamEvent, Readiness]) {
      expect(JSON.parse(JSON.stringify(schema))).toEqual(schema)
    }
  })

  it('give the types that clients write', () => {
    expectTypeOf<{ model: string; messages: { role: 'user'; content: string }[] }>().toExtend<ChatRequest>()
    expectTypeOf<ChatRequest['temperature']>().toEqualTypeOf<number | null | undefined>()
    expectTypeOf<ChatRequest['stop']>().toEqualTypeOf<string | string[] | null | undefined>()
    expectTypeOf<MessagesRequestType['max_tokens']>().toEqualTypeOf<number>()
    expectTypeOf<MessagesRequestType['temperature']>().toEqualTypeOf<number | undefined>()
    expectTypeOf<MessagesRequestType['messages'][number]['role']>().toEqualTypeOf<'user' | 'assistant' | 'system'>()
  })
})
