import { describe, expect, it } from 'vitest'
import type { EventVerdict } from '../../../src/shared/core/dialect.ts'
import { dialectOf } from '../../../src/dialects/codecs.ts'
import { SseSplitter } from '../../../src/shared/wire/sse.ts'
import fc from '../../support/fast-check.ts'
import { loadFixtures } from '../../support/recorded-fixtures.ts'
import type { RecordedFixture } from '../../support/recorded-fixtures.ts'
import { byteByByte, cutAt, seededCuts } from '../wire/sse-oracle.ts'
import { expectedOutcome } from './stream-oracle.ts'
import type { Outcome } from './stream-oracle.ts'

const STREAMS = loadFixtures((fixture) => fixture.kind === 'stream')

/** Relays a stream the way a gateway does: until its terminal event or a failure. */
function relay(
  { protocol }: Pick<RecordedFixture, 'protocol'>,
  chunks: readonly Buffer[],
  clientWantsUsage: boolean,
): Outcome {
  const inspector = dialectOf(protocol).inspectStream(clientWantsUsage)
  const splitter = new SseSplitter()
  const verdicts: EventVerdict[] = []
  let forwarded = ''
  const onEvent = (bytes: Buffer, start: number, end: number): boolean => {
    const verdict = inspector.inspect(bytes, start, end)
    verdicts.push(verdict)
    if (verdict === 'forward' || verdict === 'terminal') forwarded += bytes.toString('latin1', start, end)
    return verdict === 'forward' || verdict === 'drop'
  }
  for (const chunk of chunks) if (!splitter.split(chunk, onEvent)) break
  splitter.finish(onEvent)
  const { usage, finished, failure, observedTextBytes } = inspector
  return { forwarded, verdicts, usage, finished, failed: failure !== null, textBytes: observedTextBytes }
}

describe('recorded streams', () => {
  it.each([false, true])('are read as JSON.parse of all events reads them (client wants usage: %s)', (wantsUsage) => {
    let replays = 0
    for (const fixture of STREAMS) {
      const expected = expectedOutcome(fixture.protocol, fixture.response, wantsUsage)
      const ways = [[fixture.response], byteByByte(fixture.response)]
      for (let seed = 1; seed <= 4; seed++)
        ways.push(cutAt(fixture.response, seededCuts(fixture.response.length, seed)))
      for (const chunks of ways) {
        expect(relay(fixture, chunks, wantsUsage), fixture.id).toEqual(expected)
        replays++
      }
    }
    expect(replays).toBeGreaterThanOrEqual(1200)
  })

  it('reach a client unchanged when it wants usage and nothing is broken', () => {
    let unchanged = 0
    for (const fixture of STREAMS) {
      if (isBroken(fixture) || /duplicate-message-start|tool-search-regex-1/.test(fixture.id)) continue
      const { forwarded } = relay(fixture, [fixture.response], true)
      expect(forwarded === fixture.response.toString('latin1'), fixture.id).toBe(true)
      unchanged++
    }
    expect(unchanged).toBeGreaterThanOrEqual(190)
  })

  it('lose nothing but usage-only chunks when a client does not want usage', () => {
    const withUsageChunk = STREAMS.filter((fixture) => fixture.features.has('stream:usage-only-chunk'))
    for (const fixture of withUsageChunk) {
      const { verdicts, usage } = relay(fixture, [fixture.response], false)
      expect(verdicts.filter((verdict) => verdict === 'drop').length, fixture.id).toBeGreaterThanOrEqual(1)
      expect(usage, fixture.id).not.toBeNull()
    }
    expect(withUsageChunk.length).toBeGreaterThanOrEqual(60)
  })

  it('never look finished when they are broken', () => {
    const broken = STREAMS.filter(isBroken)
    for (const fixture of broken) {
      const { finished, verdicts } = relay(fixture, [fixture.response], false)
      expect(finished, fixture.id).toBe(false)
      expect(verdicts, fixture.id).not.toContain('terminal')
    }
    expect(broken.length).toBeGreaterThanOrEqual(6)
  })

  it('are finished without their terminal event when a finish reason came', () => {
    const withoutDone = STREAMS.filter((fixture) => fixture.features.has('stream:no-DONE') && !isBroken(fixture))
    for (const fixture of withoutDone) {
      const { finished, verdicts } = relay(fixture, [fixture.response], false)
      expect({ finished, terminal: verdicts.includes('terminal') }, fixture.id).toEqual({
        finished: true,
        terminal: false,
      })
    }
    expect(withoutDone.length).toBeGreaterThanOrEqual(3)
  })

  it('never look finished when they are cut before the finish reason', () => {
    let cuts = 0
    for (const fixture of STREAMS) {
      const stream = fixture.response
      const whole = relay(fixture, [stream], false)
      if (whole.failed || !whole.finished) continue
      const marker = fixture.protocol === 'openai-chat' ? /"finish_reason":\s*"/ : /"stop_reason":\s*"/
      const finishAt = stream.toString('latin1').search(marker)
      for (let i = 1; i <= 8; i++) {
        const length = Math.floor((finishAt * i) / 9)
        const { finished, verdicts } = relay(fixture, [stream.subarray(0, length)], false)
        expect(finished, `${fixture.id} at ${length}`).toBe(false)
        expect(verdicts, `${fixture.id} at ${length}`).not.toContain('terminal')
        cuts++
      }
    }
    expect(cuts).toBeGreaterThan(1000)
  })
})

describe('streams that keep changing their shape', () => {
  // The inspectors remember how ordinary events look; what they skip because of it must never matter.
  const text = fc.constantFrom('a', 'né', '"', '\\', '\n', '😀', '","finish_reason":"stop"', '}}]}', '')
  const index = fc.constantFrom(0, 0, 0, 1)
  const chatDelta = fc.oneof(
    fc.record({ content: text }),
    fc.record({ role: fc.constant('assistant'), content: text, reasoning: text }),
    text.map((part) => ({ tool_calls: [{ index: 0, function: { arguments: part } }] })),
  )
  const chatEvent = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ choices: fc.tuple(fc.record({ index, delta: chatDelta })), obfuscation: text }),
    },
    { weight: 6, arbitrary: fc.record({ id: fc.constant('c'), choices: fc.tuple(fc.record({ delta: chatDelta })) }) },
    {
      weight: 1,
      arbitrary: fc.oneof(
        fc.record({ choices: fc.array(fc.record({ index, delta: chatDelta }), { maxLength: 2 }), p: text }),
        fc.record({
          choices: fc.tuple(fc.record({ index, delta: chatDelta, finish_reason: fc.constantFrom('stop', null, '') })),
        }),
        fc.record({
          choices: fc.array(fc.record({ index, delta: chatDelta }), { maxLength: 1 }),
          usage: fc.record({ prompt_tokens: fc.nat(99), completion_tokens: fc.nat(99) }),
        }),
        fc.record({ choices: fc.tuple(fc.record({ delta: chatDelta })), error: fc.constantFrom(null, '', 'boom') }),
      ),
    },
  )
  const messagesEvent = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        type: fc.constant('content_block_delta'),
        index,
        delta: fc.oneof(
          fc.record({ type: fc.constant('text_delta'), text }),
          fc.record({ type: fc.constant('input_json_delta'), partial_json: text }),
          fc.record({ type: fc.constant('signature_delta'), signature: text }),
        ),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.oneof(
        fc.record({ type: fc.constant('ping') }),
        fc.record({
          type: fc.constant('message_delta'),
          delta: fc.record({ stop_reason: fc.constantFrom('end_turn', null) }),
          usage: fc.record({ input_tokens: fc.nat(99), output_tokens: fc.nat(99) }),
        }),
        fc.record({
          type: fc.constant('content_block_start'),
          content_block: fc.record({ type: fc.constant('text'), text }),
        }),
        fc.record({ type: fc.constant('error'), error: fc.record({ type: fc.constant('api_error') }) }),
      ),
    },
  )

  it.each([
    ['openai-chat', chatEvent],
    ['anthropic-messages', messagesEvent],
  ] as const)('are read as JSON.parse reads them (%s)', (protocol, event) => {
    const space = fc.constantFrom('', '', ' ', '   ')
    const runs = fc.array(fc.tuple(event as fc.Arbitrary<unknown>, fc.integer({ min: 1, max: 8 }), space), {
      maxLength: 25,
    })
    fc.assert(
      fc.property(runs, fc.boolean(), fc.array(fc.nat(), { maxLength: 20 }), (pieces, wantsUsage, cuts) => {
        const events = pieces.flatMap(([value, times, padding]) =>
          Array<string>(times).fill(`data: ${JSON.stringify(value).slice(0, -1)}${padding}}\n\n`),
        )
        const stream = Buffer.from(events.join(''))
        const expected = expectedOutcome(protocol, stream, wantsUsage)
        expect(relay({ protocol }, [stream], wantsUsage)).toEqual(expected)
        expect(relay({ protocol }, cutAt(stream, cuts), wantsUsage)).toEqual(expected)
      }),
      { numRuns: 500 },
    )
  })

  it('are not misread when the padding is not closed', () => {
    const plain = Buffer.from('data: {"choices":[{"delta":{}}],"obfuscation":"ab"}\n\n'.repeat(3))
    const open = Buffer.from('data: {"choices":[{"delta":{}}],"obfuscation":"ab\\"}\n\n')
    const { verdicts } = relay({ protocol: 'openai-chat' }, [plain, open], false)
    expect(verdicts).toEqual(['forward', 'forward', 'forward', 'error'])
  })

  it('are not misread when a line ends within what should be a delta', () => {
    const plain = Buffer.from('data: {"choices":[{"delta":{"content":"a"},"index":0}]}\n\n'.repeat(3))
    const cut = Buffer.from('data: {"choices":[{"delta":{\n"content":"a"},"index":0}]}\n\n')
    expect(relay({ protocol: 'openai-chat' }, [plain, cut], false).verdicts).toEqual([
      'forward',
      'forward',
      'forward',
      'error',
    ])
  })
})

function isBroken({ features }: RecordedFixture): boolean {
  if (features.has('stream:error-chunk') || features.has('stream:error-event')) return true
  if (features.has('stream:no-message_stop') || features.has('quirk:spliced-message-start')) return true
  return features.has('stream:no-DONE') && ![...features].some((feature) => feature.startsWith('finish:'))
}
