import { DEFAULT_AFTER, type Behaviour, type Fault } from './behaviour.ts'
import { MappedEvents, SplicedEvents, type EventList, type Events } from './events.ts'
import type { ErrorContext, Wire, WireAnswer } from './wire.ts'

export const LONG_TEXT = 'x'.repeat(1024 * 1024)

export type WireFault = 'cut' | 'reset' | 'hang' | 'garbage' | 'redirect' | 'html'

const WIRE_FAULTS: Partial<Record<Fault, WireFault>> = {
  'accept-close': 'cut',
  'reset-before-headers': 'reset',
  'hang-before-headers': 'hang',
  garbage: 'garbage',
  redirect: 'redirect',
  html: 'html',
}

/** What a fault that leaves nothing of the answer does instead; null for all others. */
export function wireFault(fault: Fault | undefined): WireFault | null {
  return fault === undefined ? null : (WIRE_FAULTS[fault] ?? null)
}

/** A buffered answer is not touched by these. */
const HARMLESS = new Set<Fault>(['no-terminal', 'double-terminal', 'early-terminal', 'bare-json', 'comments', 'crlf'])

/** Whether a buffered answer is a good one all the same. */
export function sparesBody(fault: Fault): boolean {
  return HARMLESS.has(fault)
}

/** Whether a stream is told whole all the same: nothing but its dress is wrong. */
export function sparesStream(fault: Fault): boolean {
  return fault === 'long-line' || (HARMLESS.has(fault) && fault !== 'early-terminal')
}

const RAW = new Set<Fault>(['split-utf8', 'byte-by-byte', 'slow-bytes'])

/** Faults that change only how the bytes of a good answer are cut into writes. */
export function playsRaw(fault: Fault): boolean {
  return RAW.has(fault)
}

const COMMENT = ': OPENROUTER PROCESSING\n\n'

/** The events of a stream as the fault leaves them; how the connection then ends is not decided here. */
export function faultedEvents(
  whole: EventList,
  wire: Wire,
  answer: WireAnswer,
  behaviour: Behaviour,
  context: ErrorContext,
): Events {
  // A fault in mid-stream must leave something undone.
  const after = Math.min(behaviour.after ?? DEFAULT_AFTER, whole.count - 1)
  switch (behaviour.fault) {
    case 'reset-after-headers':
    case 'hang-after-headers':
      return new SplicedEvents(whole, 0, [], 'end')
    case 'reset-mid-stream':
    case 'hang-mid-stream':
    case 'close-mid-stream':
      return new SplicedEvents(whole, after, [], 'end')
    case 'no-terminal':
      return new SplicedEvents(whole, whole.terminalIndex, [], 'end')
    case 'double-terminal':
      return new SplicedEvents(whole, whole.count, [wire.terminal()], 'end')
    case 'early-terminal':
      return new SplicedEvents(whole, after, [wire.terminal()], 'end')
    case 'garbage-event':
      return new SplicedEvents(whole, after, ['data: {"this is": not json \u0007\n\n'], 'rest')
    case 'long-line':
      return new SplicedEvents(whole, after, [wire.longEvent(answer, LONG_TEXT)], 'rest')
    case 'truncated-json':
      return new SplicedEvents(whole, after, [truncated(whole.text(after))], 'end')
    case 'error-event-first':
      return new SplicedEvents(whole, 0, [wire.errorEvent(context)], 'end')
    case 'error-event-mid':
      return new SplicedEvents(whole, after, [wire.errorEvent(context)], 'end')
    case 'comments':
      return wire.encoding === 'latin1' ? whole : new MappedEvents(whole, (text) => COMMENT + text)
    case 'crlf':
      return wire.encoding === 'latin1' ? whole : new MappedEvents(whole, (text) => text.replaceAll('\n', '\r\n'))
    default:
      return whole
  }
}

/** Half of the event, ended like a whole one. */
function truncated(event: string): string {
  const start = event.indexOf('data: ') + 'data: '.length
  return `${event.slice(0, start + ((event.length - start) >> 1))}\n\n`
}
