import type { UpstreamDialectName } from '../core/endpoint.ts'
import { SseSplitter } from '../wire/sse.ts'

/** Is given `bytes[start, end)`, one whole event. False: no more. */
type EventListener = (bytes: Buffer, start: number, end: number) => boolean

/** Cuts an upstream's stream into events. Throws for what cannot be one. */
export interface EventSplitter {
  split(chunk: Buffer, onEvent: EventListener): boolean
  /** The stream is over: hands out what is left, if that can be an event. */
  finish(onEvent: EventListener): void
}

export function eventSplitter(_upstream: UpstreamDialectName): EventSplitter {
  return new SseSplitter()
}
