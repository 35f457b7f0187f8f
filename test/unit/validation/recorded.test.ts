import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { refusal, validate } from './refusal.ts'

interface RecordedCase {
  readonly id: string
  readonly protocol: string
  readonly operation?: string
  readonly request?: { readonly file?: string }
  readonly response: { readonly status: number }
}

const recorded = new URL('../../fixtures/recorded/', import.meta.url)
const index = JSON.parse(readFileSync(new URL('index.json', recorded), 'utf8')) as { cases: RecordedCase[] }

const requests = index.cases.flatMap(({ id, protocol, operation, request, response }) => {
  if (request?.file === undefined || !['openai-chat', 'anthropic-messages'].includes(protocol)) return []
  const messages: string = operation === 'count_tokens' ? 'messages.count_tokens' : 'messages'
  const endpoint: string = protocol === 'openai-chat' ? 'chat.completions' : messages
  return [{ id, endpoint, status: response.status, body: readFileSync(new URL(request.file, recorded)) }]
})
const answered = requests.filter(({ status }) => status === 200)

describe('recorded requests', () => {
  it('are there in both dialects', () => {
    for (const endpoint of ['chat.completions', 'messages', 'messages.count_tokens']) {
      expect(answered.filter((request) => request.endpoint === endpoint).length).toBeGreaterThan(3)
    }
  })

  it.each(answered)('pass when a provider answered them: $id', ({ endpoint, body }) => {
    expect(refusal(endpoint, body)).toBeNull()
  })

  it('that a provider refused are refused only for a field', () => {
    for (const { endpoint, body } of requests) {
      const error = refusal(endpoint, body)
      if (error !== null) expect(error).toMatchObject({ code: 'INVALID_FIELD', status: 400 })
    }
  })

  it('are read as JSON.parse reads them', () => {
    for (const { endpoint, body } of answered) {
      const parsed = JSON.parse(body.toString()) as Record<string, unknown>
      const { members, model, stream, estimatedPromptTokens } = validate(endpoint, body)

      expect(members.map(({ name }) => name)).toEqual(Object.keys(parsed))
      for (const { name, valueStart, valueEnd } of members) {
        expect(JSON.parse(body.subarray(valueStart, valueEnd).toString())).toEqual(parsed[name])
      }
      expect(model).toBe(parsed['model'])
      expect(stream).toBe(parsed['stream'] ?? false)
      expect(estimatedPromptTokens).toBeGreaterThan(0)
    }
  })
})
