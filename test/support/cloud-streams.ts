import { upstreamCodec } from '../../src/dialects/codecs.ts'
import type { StreamEvent } from '../../src/shared/core/stream-event.ts'
import { writeAwsFrame } from '../../src/shared/wire/aws-event-stream.ts'
import { decodeStream } from './decode-stream.ts'
import type { CloudFixture } from './recorded-fixtures.ts'

/** Whether a recording is of Cohere's version 1, which Sluice does not support. */
export function isForeign({ protocol, response }: CloudFixture): boolean {
  return protocol === 'cohere-chat' && response.includes('"response_id"')
}

/** The bytes of a recorded stream. */
export function bytesOf(fixture: CloudFixture): Buffer {
  if (fixture.format !== 'events-only') return fixture.response
  return Buffer.concat(fixture.decoded.map(({ headers, payload }) => writeAwsFrame(headers, JSON.stringify(payload))))
}

/** Decodes a recorded stream that arrives in these chunks. */
export function decodeCloudStream({ protocol }: CloudFixture, chunks: readonly Buffer[]): StreamEvent[] {
  const codec = upstreamCodec(protocol)
  return decodeStream(codec.createDecoder(), codec.framing, chunks)
}
