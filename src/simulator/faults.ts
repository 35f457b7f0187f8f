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

/** The action of a fault that replaces the whole answer; null for other faults. */
export function wireFault(fault: Fault | undefined): WireFault | null {
  return fault === undefined ? null : (WIRE_FAULTS[fault] ?? null)
}

/** Faults that do not change a buffered answer. */
const HARMLESS = new Set<Fault>(['no-terminal', 'double-terminal', 'early-terminal', 'bare-json', 'comments', 'crlf'])

/** Whether the fault leaves a buffered answer correct. */
export function sparesBody(fault: Fault): boolean {
  return HARMLESS.has(fault)
}

/** Whether the fault leaves the content of a stream complete and changes only its framing. */
export function sparesStream(fault: Fault): boolean {
  return fault === 'long-line' || (HARMLESS.has(fault) && fault !== 'early-terminal')
}

const RAW = new Set<Fault>(['split-utf8', 'byte-by-byte', 'slow-bytes'])

/** Whether the fault changes only how the bytes of a correct answer are split into writes. */
export function playsRaw(fault: Fault): boolean {
  return RAW.has(fault)
}

const COMMENT = ': OPENROUTER PROCESSING\n\n'

/** The events of a stream with the fault applied. `endingOf` in `reply.ts` decides how the connection ends. */
export function faultedEvents(
  whole: EventList,
  wire: Wire,
  answer: WireAnswer,
  behaviour: Behaviour,
  context: ErrorContext,
): Events {
  // A fault in mid-stream must omit at least one event.
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

/** Half of the event, with the blank line of a whole one. */
function truncated(event: string): string {
  const start = event.indexOf('data: ') + 'data: '.length
  return `${event.slice(0, start + ((event.length - start) >> 1))}\n\n`
}
