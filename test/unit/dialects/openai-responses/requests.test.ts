import { describe, expect, it } from 'vitest'
import type { AnswerOptions } from '../../../../src/shared/core/codec.ts'
import { thinkingBlock, toolCallBlock } from '../../../../src/shared/core/content.ts'
import type { Block } from '../../../../src/shared/core/content.ts'
import { upstreamCodec } from '../../../../src/dialects/codecs.ts'
import { responsesCodec } from '../../../../src/dialects/openai-responses/codec.ts'
import { readOutput } from '../../../../src/dialects/openai-responses/parse-input.ts'
import { seal, unseal } from '../../../../src/dialects/openai-responses/reasoning-seal.ts'
import fc from '../../../support/fast-check.ts'
import type { Json } from '../../../support/plain-json.ts'
import { OPTIONS } from '../../../support/translation.ts'

const text = fc.string({ minLength: 1, unit: 'grapheme' })
const name = fc.stringMatching(/^[a-z]{1,8}$/)

function build(
  upstream: 'openai-chat' | 'anthropic-messages',
  request: Json,
): { body: Json; dropped: readonly string[] } {
  const codec = upstreamCodec(upstream)
  const conversation = responsesCodec.parseRequest({ model: 'm', ...request })
  return codec.buildRequest(conversation, { ...codec.defaultTarget, model: 'up' })
}

function answered(content: readonly Block[], options: AnswerOptions = OPTIONS): Json {
  const stop = { reason: 'end', native: null, sequence: null, details: null } as const
  const answer = {
    from: 'gemini',
    id: '',
    model: 'm',
    created: null,
    usage: null,
    nativeUsage: null,
    extra: null,
  } as const
  return responsesCodec.buildAnswer({ ...answer, content, stop }, options).body
}

describe('a request for a response', () => {
  it('is a chat with its instructions first and the turns of the assistant put together', () => {
    const { body, dropped } = build('openai-chat', {
      instructions: 'Be brief.',
      input: [
        { role: 'developer', content: 'Use tools.' },
        { role: 'user', content: [{ type: 'input_text', text: 'Look' }] },
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'I look.', annotations: [] }] },
        { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{"at":1}' },
        { type: 'function_call', call_id: 'c2', name: 'look', arguments: '{"at":2}' },
        { type: 'function_call_output', call_id: 'c1', output: 'one' },
        { type: 'function_call_output', call_id: 'c2', output: [{ type: 'input_text', text: 'two' }] },
      ],
      tools: [{ type: 'function', name: 'look', parameters: { type: 'object' }, strict: true }],
      tool_choice: { type: 'function', name: 'look' },
      parallel_tool_calls: false,
      max_output_tokens: 99,
      reasoning: { effort: 'low', summary: 'auto' },
      store: false,
      include: ['reasoning.encrypted_content'],
      text: { format: { type: 'json_schema', name: 'out', schema: { type: 'object' }, strict: true } },
    })
    const call = (id: string, at: number): Json => ({
      id,
      type: 'function',
      function: { name: 'look', arguments: `{"at":${at}}` },
    })
    expect(body.messages).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'developer', content: 'Use tools.' },
      { role: 'user', content: 'Look' },
      { role: 'assistant', content: 'I look.', tool_calls: [call('c1', 1), call('c2', 2)] },
      { role: 'tool', tool_call_id: 'c1', content: 'one' },
      { role: 'tool', tool_call_id: 'c2', content: 'two' },
    ])
    expect(body).toMatchObject({
      tools: [{ type: 'function', function: { name: 'look', parameters: { type: 'object' }, strict: true } }],
      tool_choice: { type: 'function', function: { name: 'look' } },
      parallel_tool_calls: false,
      max_completion_tokens: 99,
      reasoning_effort: 'low',
      response_format: { type: 'json_schema', json_schema: { name: 'out', schema: { type: 'object' }, strict: true } },
    })
    expect(dropped).toEqual([])
  })

  it('carries pictures and files, also those that tools return', () => {
    const picture = { type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'high' }
    const file = { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,BBBB' }
    const { body } = build('anthropic-messages', {
      input: [
        { role: 'user', content: [picture, file] },
        { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c1', output: [picture] },
      ],
    })
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }
    const pdf = { type: 'base64', media_type: 'application/pdf', data: 'BBBB' }
    expect(body.messages[0].content).toEqual([image, { type: 'document', source: pdf, title: 'a.pdf' }])
    expect(body.messages[2].content).toEqual([{ type: 'tool_result', tool_use_id: 'c1', content: [image] }])
  })

  it('reports what its upstream cannot be told, and nothing that makes no difference', () => {
    const { dropped } = build('anthropic-messages', {
      input: 'Hi',
      truncation: 'disabled',
      include: ['message.output_text.logprobs', 'reasoning.encrypted_content'],
      prompt_cache_key: 'k',
      text: { verbosity: 'low' },
      stream_options: { include_obfuscation: false },
    })
    expect([...dropped].sort()).toEqual(['include', 'prompt_cache_key', 'verbosity'])
  })

  it('brings back reasoning of another service to nobody, and says so', () => {
    const items = [
      { role: 'user', content: 'Hi' },
      { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAAAB-theirs' },
      { role: 'assistant', content: 'Hello' },
      { role: 'user', content: 'Go on' },
    ]
    for (const upstream of ['openai-chat', 'anthropic-messages'] as const) {
      const { body, dropped } = build(upstream, { input: items })
      expect(JSON.stringify(body)).not.toContain('gAAAAB')
      expect(dropped.length).toBe(1)
    }
  })
})

describe('what a response holds', () => {
  it('brings thinking, calls and their signatures back byte for byte', () => {
    const signature = fc.option(text)
    const block: fc.Arbitrary<Block> = fc.oneof(
      fc.record({ said: text, signature }).map(({ said, signature: by }) => thinkingBlock(said, by, 'f')),
      fc
        .record({ data: text })
        .map(({ data }) => ({ type: 'redacted-thinking' as const, data, format: 'f', extra: null })),
      fc
        .record({ id: fc.uuid(), name, input: fc.json(), signature, kind: fc.constantFrom('function', 'custom') })
        .map((call) => toolCallBlock(call)),
    )
    fc.assert(
      fc.property(fc.array(block, { maxLength: 6 }), (content) => {
        expect(readOutput(answered(content))).toEqual(content)
      }),
    )
  })

  it('is sealed so that only what was sealed here is opened', () => {
    fc.assert(
      fc.property(text, text, fc.option(text), (data, callId, format) => {
        for (const sealed of [
          { kind: 'redacted', data, format },
          { kind: 'call', callId, signature: data },
          { kind: 'thinking', format, signature: format },
        ] as const) {
          expect(unseal(seal(sealed))).toEqual(sealed)
        }
        expect(unseal(data)).toBeNull()
        expect(unseal(`sluice1.${data}`)).toBeNull()
      }),
    )
  })

  it('cites addresses where they were cited, and repeats its request', () => {
    const native = { url: 'https://a.example/' }
    const citation = { url: native.url, title: 'A', text: null, start: null, end: null, native }
    const echo = responsesCodec.repeatedFields?.({
      model: 'm',
      input: 'x',
      tools: [],
      temperature: 0.5,
      metadata: { a: 'b' },
    })
    const body = answered([{ type: 'text', text: 'Four', citations: [citation], cache: null, extra: null }], {
      ...OPTIONS,
      echo: echo ?? null,
    })
    const place = { start_index: 0, end_index: 4 }
    expect(body.output[0].content[0].annotations).toEqual([
      { type: 'url_citation', url: native.url, title: 'A', ...place },
    ])
    expect(body).toMatchObject({ temperature: 0.5, metadata: { a: 'b' }, tool_choice: 'auto', store: false })
  })
})
