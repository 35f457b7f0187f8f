import { expect, it } from 'vitest'
import { CohereDecoder } from '../../../../src/dialects/cohere-chat/decoder.ts'
import { ConverseDecoder } from '../../../../src/dialects/bedrock-converse/decoder.ts'
import { writeAwsFrame } from '../../../../src/shared/wire/aws-event-stream.ts'
import { decodeStream } from '../../../support/decode-stream.ts'
import fc from '../../../support/fast-check.ts'
import { readStream } from '../../../support/stream-reader.ts'

const text = fc.oneof(fc.string({ maxLength: 4 }), fc.constantFrom('', '{}', 'null'))
const index = fc.nat({ max: 2 })

const converseEvent = fc.oneof(
  fc.constant(['messageStart', { role: 'assistant' }]),
  fc.tuple(
    fc.constant('contentBlockStart'),
    fc.record({
      contentBlockIndex: index,
      start: fc.oneof(
        fc.constant({}),
        fc.record({ toolUse: fc.record({ toolUseId: text, name: text }) }),
        fc.constant({ toolResult: { type: 'search' } }),
      ),
    }),
  ),
  fc.tuple(
    fc.constant('contentBlockDelta'),
    fc.record({
      contentBlockIndex: index,
      delta: fc.oneof(
        fc.record({ text }),
        fc.record({ toolUse: fc.record({ input: fc.oneof(text, fc.constant({ a: 1 })) }) }),
        fc.record({
          reasoningContent: fc.record({ text, signature: text, redactedContent: text }, { requiredKeys: [] }),
        }),
        fc.constant({ citation: { title: 'x' } }),
        fc.jsonValue(),
      ),
    }),
  ),
  fc.tuple(fc.constant('contentBlockStop'), fc.record({ contentBlockIndex: index })),
  fc.tuple(
    fc.constant('messageStop'),
    fc.record({ stopReason: fc.constantFrom('end_turn', 'tool_use', 'malformed_tool_use', null) }),
  ),
  fc.tuple(fc.constant('metadata'), fc.record({ usage: fc.jsonValue() })),
  fc.tuple(fc.string({ maxLength: 5 }), fc.jsonValue()),
)

const cohereEvent = fc.oneof(
  fc.record({
    type: fc.constantFrom(
      'message-start',
      'content-start',
      'content-delta',
      'content-end',
      'tool-plan-delta',
      'tool-call-start',
      'tool-call-delta',
      'tool-call-end',
      'citation-start',
      'message-end',
    ),
    index,
    delta: fc.record(
      {
        message: fc.record(
          {
            content: fc.oneof(fc.record({ text }), fc.record({ thinking: text })),
            tool_plan: text,
            tool_calls: fc.record({ id: text, function: fc.record({ name: text, arguments: text }) }),
            citations: fc.constant({ text: 'x' }),
          },
          { requiredKeys: [] },
        ),
        finish_reason: fc.constantFrom('COMPLETE', 'TOOL_CALL', 'ERROR', null),
        usage: fc.jsonValue(),
      },
      { requiredKeys: [] },
    ),
  }),
  fc.jsonValue(),
)

it('keeps to the grammar and ends, whatever the events of a Converse stream are', () => {
  fc.assert(
    fc.property(fc.array(converseEvent, { maxLength: 12 }), (events) => {
      const frames = events.map(([type, payload]) =>
        writeAwsFrame({ ':message-type': 'event', ':event-type': String(type) }, JSON.stringify(payload)),
      )
      const { end, failure } = readStream(decodeStream(new ConverseDecoder(), 'aws-event-stream', frames))
      expect((end === null) !== (failure === null)).toBe(true)
    }),
    { numRuns: 2000 },
  )
})

it('keeps to the grammar and ends, whatever the events of a Cohere stream are', () => {
  fc.assert(
    fc.property(fc.array(cohereEvent, { maxLength: 12 }), (events) => {
      const chunks = events.map((event) => Buffer.from(`data: ${JSON.stringify(event)}\n\n`))
      const { end, failure } = readStream(decodeStream(new CohereDecoder(), 'sse', chunks))
      expect((end === null) !== (failure === null)).toBe(true)
    }),
    { numRuns: 2000 },
  )
})
