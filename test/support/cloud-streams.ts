import { upstreamCodec } from '../../src/dialects/codecs.ts'
import type { StreamEvent } from '../../src/shared/core/stream-event.ts'
import { writeAwsFrame } from '../../src/shared/wire/aws-event-stream.ts'
import { decodeStream } from './decode-stream.ts'
import type { CloudFixture } from './recorded-fixtures.ts'

/** The version before, which nothing here speaks. */
export function isForeign({ protocol, response }: CloudFixture): boolean {
  return protocol === 'cohere-chat' && response.includes('"response_id"')
}

/** The recorded stream as it was on the wire. */
export function bytesOf(fixture: CloudFixture): Buffer {
  if (fixture.format !== 'events-only') return fixture.response
  return Buffer.concat(fixture.decoded.map(({ headers, payload }) => writeAwsFrame(headers, JSON.stringify(payload))))
}

/** What a recorded stream means when it comes in these chunks. */
export function decodeCloudStream({ protocol }: CloudFixture, chunks: readonly Buffer[]): StreamEvent[] {
  const codec = upstreamCodec(protocol)
  return decodeStream(codec.createDecoder(), codec.framing, chunks)
}
