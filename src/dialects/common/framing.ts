import type { UpstreamDialectName } from '../../shared/core/endpoint.ts'
import { AwsFrameSplitter } from '../../shared/wire/aws-event-stream.ts'
import { SseSplitter } from '../../shared/wire/sse.ts'
import { upstreamCodec } from '../codecs.ts'

/** Receives `bytes[start, end)`, one whole event. Returns false to stop. */
type EventListener = (bytes: Buffer, start: number, end: number) => boolean

/** Splits an upstream's stream into events. Throws when the bytes cannot be an event. */
export interface EventSplitter {
  split(chunk: Buffer, onEvent: EventListener): boolean
  /** Whether the next byte begins an event that `StreamDecoder.ordinaryText` may look at. */
  readonly isBetweenEvents: boolean
  /** Call when the stream has ended: passes on the remaining bytes if they can be an event. */
  finish(onEvent: EventListener): void
  /** Whether the last line so far is a comment within an unfinished event. Some servers send one as a sign of life. */
  endsInComment(): boolean
}

export function eventSplitter(upstream: UpstreamDialectName): EventSplitter {
  if (upstreamCodec(upstream).framing === 'sse') return new SseSplitter()
  const frames = new AwsFrameSplitter()
  return {
    // No decoder knows ordinary frames: each has a checksum.
    isBetweenEvents: false,
    split: (chunk, onFrame) => frames.split(chunk, onFrame),
    // Half a frame is not an event. The decoder knows whether the stream was whole.
    finish: () => undefined,
    endsInComment: () => false,
  }
}
