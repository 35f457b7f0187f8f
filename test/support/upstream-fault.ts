import type { UpstreamDialectName } from '../../src/shared/core/endpoint.ts'
import { ERROR_CODES } from '../../src/shared/core/errors.ts'
import type { ErrorCode } from '../../src/shared/core/errors.ts'
import type { Settlement } from '../../src/shared/core/usage.ts'
import type { Behaviour } from '../../src/simulator/behaviour.ts'
import type { RawPlay } from './fault-upstream.ts'

/** What becomes of the upstream key that did it. */
export type KeyAfter =
  /** One such answer changes nothing; five in a row do. */
  | 'in use'
  /** Left alone for a second or so. */
  | 'rests'
  /** Left alone for as long as the upstream said. */
  | 'rests as told'
  /** Left alone for a minute at least. */
  | 'out'

/** What the client gets, and what is booked. */
export type Expectation =
  /** An error answer; nothing had gone downstream. Nothing is booked. */
  | {
      readonly kind: 'refused'
      readonly code: ErrorCode
      readonly key: KeyAfter
      readonly retryAfter?: number
      /** What chat clients read as the code. */ readonly clientCode?: string
      /** It has taken all the time that a request has: no other key is asked. */ readonly isLast?: boolean
    }
  /** 200, what came until then, and an error event as the last one. What passed is booked as observed. */
  | { readonly kind: 'broken'; readonly code: ErrorCode }
  /** A good answer. */
  | { readonly kind: 'whole'; readonly settlement: Settlement; readonly tokens?: readonly [number, number] }

/** What the client reads when all upstreams that were asked say so. */
export function toldCode({ code }: Extract<Expectation, { kind: 'refused' }>): ErrorCode {
  return code === 'UPSTREAM_NOT_FOUND' ? 'MODEL_NOT_FOUND' : code
}

/** Whether another key is asked after it. */
export function asksAnother({ code, isLast }: Extract<Expectation, { kind: 'refused' }>): boolean {
  return ERROR_CODES[code].retryable && isLast !== true
}

export type FaultSource =
  | { readonly kind: 'simulator'; readonly behaviour: Behaviour }
  | { readonly kind: 'raw'; readonly play: RawPlay }
  | { readonly kind: 'closed port' }
  | { readonly kind: 'black hole' }

export interface Outcomes {
  /** Null: the fault is none of such an answer. */
  readonly buffered: Expectation | null
  readonly streamed: Expectation | null
}

export interface UpstreamFault extends Outcomes {
  readonly name: string
  /** What the upstream does, in words. */
  readonly upstream: string
  readonly source: FaultSource
  /** Where a dialect differs. */
  readonly only?: Partial<Record<UpstreamDialectName, Partial<Outcomes>>>
  /** The waits of this upstream are short: it is their end that is looked at. `idle`: but for the total one. */
  readonly hangs?: boolean | 'idle'
}

export interface FaultGroup {
  readonly title: string
  readonly faults: readonly UpstreamFault[]
}

/** What is expected of a fault in one dialect and mode. */
export function expectationOf(fault: UpstreamFault, dialect: UpstreamDialectName, stream: boolean): Expectation | null {
  const outcomes: Outcomes = { ...fault, ...fault.only?.[dialect] }
  return stream ? outcomes.streamed : outcomes.buffered
}
