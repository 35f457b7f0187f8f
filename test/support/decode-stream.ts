import type { StreamDecoder } from '../../src/shared/core/codec.ts'
import type { StreamEvent } from '../../src/shared/core/stream-event.ts'
import { AwsFrameSplitter } from '../../src/shared/wire/aws-event-stream.ts'
import { SseSplitter } from '../../src/shared/wire/sse.ts'

/** All events that a decoder returns for a body in these chunks. */
export function decodeStream(
  decoder: StreamDecoder,
  framing: 'sse' | 'aws-event-stream',
  chunks: readonly Buffer[],
): StreamEvent[] {
  const out: StreamEvent[] = []
  const splitter = framing === 'sse' ? new SseSplitter() : new AwsFrameSplitter()
  const decode = (bytes: Buffer, start: number, end: number): void => {
    decoder.decode(bytes, start, end, out)
  }
  for (const chunk of chunks) splitter.split(chunk, decode)
  splitter.finish(decode)
  decoder.finish(out)
  return out
}

/** The body in one piece, byte by byte, and split in `count` random ways. */
export function* cutsOf(body: Buffer, random: () => number, count: number): Generator<readonly Buffer[]> {
  yield [body]
  yield Array.from(body, (_byte, at) => body.subarray(at, at + 1))
  for (let i = 0; i < count; i++) {
    const chunks: Buffer[] = []
    const longest = 1 + Math.floor(random() * 400)
    for (let at = 0; at < body.length;) {
      const end = Math.min(body.length, at + 1 + Math.floor(random() * longest))
      chunks.push(body.subarray(at, end))
      at = end
    }
    yield chunks
  }
}
