import { describe, expect, it } from 'vitest'
import { cloudBetas, losesBetas, readBetas } from '../../../src/dialects/anthropic-messages/cloud-betas.ts'
import { vertexMessagesPath } from '../../../src/dialects/anthropic-vertex/address.ts'
import { vertexMessagesCodec } from '../../../src/dialects/anthropic-vertex/codec.ts'
import { invokeCodec } from '../../../src/dialects/bedrock-invoke/codec.ts'
import { clientCodec } from '../../../src/dialects/codecs.ts'
import { writeAwsFrame } from '../../../src/shared/wire/aws-event-stream.ts'
import { decodeStream } from '../../support/decode-stream.ts'
import { readStream } from '../../support/stream-reader.ts'

const REQUEST = clientCodec('anthropic-messages').parseRequest({
  model: 'claude',
  max_tokens: 10,
  stream: true,
  messages: [{ role: 'user', content: 'hi' }],
  service_tier: 'auto',
  context_management: { edits: [] },
  tools: [{ name: 't', input_schema: { type: 'object' }, defer_loading: true }],
})
const TARGET = { ...invokeCodec.defaultTarget, model: 'claude', stream: true }
const SIGNATURE = 'EpQECqcBCBAYAipAs46h2GeWxFe2o5kQQ444RRsh'
const EVENT = { ':message-type': 'event', ':event-type': 'chunk' }

describe('messages through clouds', () => {
  it('lack in InvokeModel what the path says, and what is for first-party services', () => {
    const { body, dropped } = invokeCodec.buildRequest(REQUEST, TARGET)
    expect(body).toEqual({
      anthropic_version: 'bedrock-2023-05-31',
      max_tokens: 10,
      messages: [{ role: 'user', content: 'hi' }],
      tools: [{ name: 't', input_schema: { type: 'object' } }],
    })
    expect([...dropped].sort()).toEqual(['context_management', 'service_tier', 'tools.defer_loading'])
  })

  it('keep at Vertex the member that asks for a stream', () => {
    const { body } = vertexMessagesCodec.buildRequest(REQUEST, TARGET)
    expect(body).toMatchObject({ anthropic_version: 'vertex-2023-10-16', stream: true })
    expect(body).not.toHaveProperty('model')
    expect(vertexMessagesPath('claude-3-7-sonnet@20250219', true, { project: 'p', location: 'us-east5' })).toBe(
      '/v1/projects/p/locations/us-east5/publishers/anthropic/models/claude-3-7-sonnet@20250219:streamRawPredict',
    )
  })

  it('are given the flags that clouds know, and no others', () => {
    const flags = readBetas('context-1m-2025-08-07, claude-code-20250219,,interleaved-thinking-2025-05-14')
    expect(cloudBetas(flags)).toEqual(['context-1m-2025-08-07', 'interleaved-thinking-2025-05-14'])
    expect([losesBetas(flags), losesBetas(cloudBetas(flags))]).toEqual([true, false])
    expect(cloudBetas(readBetas('advanced-tool-use-2025-11-20,tool-search-tool-2025-10-19'))).toEqual([
      'tool-search-tool-2025-10-19',
    ])
    expect(readBetas(undefined)).toEqual([])
  })

  it('are told neither the thoughts of other providers nor the billing line of a coding agent', () => {
    const content = [
      { type: 'thinking', thinking: 'a', signature: 'sluice-unsigned' },
      { type: 'redacted_thinking', data: 'google-gemini-v1:text:c2ln' },
      { type: 'thinking', thinking: 'b', signature: SIGNATURE },
      { type: 'text', text: 'c' },
    ]
    const conversation = clientCodec('anthropic-messages').parseRequest({
      model: 'claude',
      max_tokens: 10,
      system: [
        { type: 'text', text: 'x-anthropic-billing-header: cc_version=1' },
        { type: 'text', text: 'Be brief.' },
      ],
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content },
        { role: 'user', content: 'go on' },
        { role: 'assistant', content: content.slice(0, 2) },
      ],
    })
    const { body, dropped } = invokeCodec.buildRequest(conversation, { ...TARGET, stream: false })
    expect(body['system']).toEqual([{ type: 'text', text: 'Be brief.' }])
    expect(body['messages']).toEqual([
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: content.slice(2) },
      { role: 'user', content: 'go on' },
    ])
    expect(dropped).toEqual(['content.thinking'])
  })

  it('are given flags from the body as well, as the clients of clouds write them', () => {
    const conversation = clientCodec('anthropic-messages').parseRequest({
      model: 'claude',
      max_tokens: 10,
      messages: [{ role: 'user', content: 'hi' }],
      anthropic_beta: ['context-1m-2025-08-07', 'made-up-2030-01-01', 7],
    })
    const { body, dropped } = invokeCodec.buildRequest(conversation, TARGET)
    expect([body['anthropic_beta'], dropped]).toEqual([['context-1m-2025-08-07'], ['anthropic-beta']])
    expect(vertexMessagesCodec.buildRequest(conversation, TARGET).body).not.toHaveProperty('anthropic_beta')
  })

  it.each([
    [
      'an exception',
      writeAwsFrame(
        { ':message-type': 'exception', ':exception-type': 'throttlingException' },
        '{"message":"slow down"}',
      ),
      { type: 'throttlingException', message: 'slow down' },
    ],
    ['a frame without bytes', writeAwsFrame(EVENT, '{}'), { type: 'invalid_event' }],
    [
      'an error of the model',
      writeAwsFrame(
        EVENT,
        JSON.stringify({
          bytes: Buffer.from('{"type":"error","error":{"type":"overloaded_error","message":"busy"}}').toString(
            'base64',
          ),
        }),
      ),
      { type: 'overloaded_error' },
    ],
  ])('end in an error with %s', (_what, frame, expected) => {
    const { failure, end } = readStream(decodeStream(invokeCodec.createDecoder(), 'aws-event-stream', [frame, frame]))
    expect(end).toBeNull()
    expect(failure).toMatchObject(expected)
  })
})
