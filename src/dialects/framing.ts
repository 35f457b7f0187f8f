import type { UpstreamDialectName } from '../shared/core/endpoint.ts'
import { AwsFrameSplitter } from '../shared/wire/aws-event-stream.ts'
import { SseSplitter } from '../shared/wire/sse.ts'
import { upstreamCodec } from './codecs.ts'

/** Is given `bytes[start, end)`, one whole event. False: no more. */
type EventListener = (bytes: Buffer, start: number, end: number) => boolean

/** Cuts an upstream's stream into events. Throws for what cannot be one. */
export interface EventSplitter {
  split(chunk: Buffer, onEvent: EventListener): boolean
  /** The stream is over: hands out what is left, if that can be an event. */
  finish(onEvent: EventListener): void
  /** The last line that has come is a comment, of an event that is not over: some servers send one to show that they are alive. */
  endsInComment(): boolean
}

export function eventSplitter(upstream: UpstreamDialectName): EventSplitter {
  if (upstreamCodec(upstream).framing === 'sse') return new SseSplitter()
  const frames = new AwsFrameSplitter()
  return {
    split: (chunk, onFrame) => frames.split(chunk, onFrame),
    // Half a frame is none: the decoder knows whether the stream was whole.
    finish: () => undefined,
    endsInComment: () => false,
  }
}
